"""Records of programs in which nothing is recorded: those of exit(), clear(), printa() and the like, which the consumer
carries out. perf has nothing to show of them, so they are kept from it: each stands in a block of sonde's own."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sonde.formats import perf_events as perf
from sonde.formats.bpf_ring import RING_HEADER
from sonde.formats.perf_records import SAMPLED
from sonde.model.records import ClearAction, ExitAction, NormalizeAction, PrintaAction, SetOptionAction, TruncAction
from sonde.model.spec import TracingSpec

_CARRIED_OUT = (ClearAction, ExitAction, NormalizeAction, PrintaAction, SetOptionAction, TruncAction)
_NUMBER = (SAMPLED.raw + RING_HEADER) // 4
"""Which u32 of a sample is the number of the record's layout."""


def unseen(spec: TracingSpec) -> frozenset[int]:
    """The numbers of their layouts."""
    return frozenset(
        each.number
        for each in spec.records
        if not each.is_default and all(isinstance(action, _CARRIED_OUT) for action in each.actions)
    )


def parts(data: memoryview, layouts: Collection[int], events: Collection[int]) -> Iterator[tuple[bool, bytes]]:
    """Ring bytes in parts: whether it is one such record, and the bytes. `events` are what identifies samples that are
    records of programs."""
    if not layouts:
        yield False, bytes(data)
        return
    quads, words = data.cast("Q"), data.cast("I")
    start = position = 0
    while position < len(quads):
        header = quads[position]
        behind = position + (header >> 51)
        is_record = header & 0xFFFFFFFF == perf.RECORD_SAMPLE and quads[position + 1] in events
        if is_record and words[2 * position + _NUMBER] in layouts:
            if start < position:
                yield False, bytes(data[8 * start : 8 * position])
            yield True, bytes(data[8 * position : 8 * behind])
            start = behind
        position = behind
    if start < position:
        yield False, bytes(data[8 * start :])
