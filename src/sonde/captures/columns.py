"""Records that end with a packet as Enhanced Packet Blocks, all at a time: those that differ in their values alone.

All blocks are made equal first; then each word of them is written in all of them by one strided copy.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from sonde.captures.interfaces import InterfacePlace
from sonde.captures.values import RECORD, options_of
from sonde.formats import pcapng
from sonde.formats.bpf_ring import RING_HEADER
from sonde.model.records import PROBE_AT, CaptureAction
from sonde.typed import NamedTuple

PROBE_WORD = (RING_HEADER + PROBE_AT) // 4
"""Where a record in a ring has its probe."""

_WORDS, _FEW = 128, 16
"""Blocks are copied by the word where they have no more than so many, and where there are so many of them: a word costs
the same however many blocks it is copied to, and a block copied by itself the same however long it is."""

_RECORD = RING_HEADER // 4
_INTERFACE, _UPPER_TIME, _LOWER_TIME, _LENGTH, _DATA = 2, 3, 4, 6, 7
"""Words of a block."""


class _Comments(NamedTuple):
    """Texts of `size` bytes each, padded to words, one behind the other."""

    size: int
    words: memoryview


def by_column(
    data: memoryview,
    stride: int,
    capture: CaptureAction,
    places: Mapping[int, InterfacePlace],
    texts: Sequence[bytes] | None,
) -> bytearray | None:
    """The blocks of records of one length; `texts` are the packets' comments, None if they have no values.

    None where they differ in more than values, or where this is not the way to copy them.
    """
    words, step, count = data.cast("I"), stride // 4, len(data) // stride
    place = (RING_HEADER + capture.data.offset) // 4
    begin, size = words[place], words[place + 1]
    if count < _FEW or begin & 3 or size > 4 * _WORDS:
        return None
    if not (is_all(words[place::step], begin) and is_all(words[place + 1 :: step], size)):
        return None
    probes = words[PROBE_WORD::step]
    comments = _joined(texts or ())
    if comments is None or not (is_all(probes, probes[0]) or _have_directions(places, probes)):
        return None
    record = None if texts is None else memoryview(bytes(begin))
    options = pcapng.options(options_of(places[probes[0]], bytes(comments.size), record))
    block = pcapng.enhanced_packet(places[probes[0]].interface, 0, 0, bytes(size), options)
    each = len(block) // 4
    if each > _WORDS:
        return None
    made = bytearray(block * count)
    target = memoryview(made).cast("I")
    time, length = (RING_HEADER + capture.time.offset) // 4, (RING_HEADER + capture.length.offset) // 4
    for to, source in ((_UPPER_TIME, time + 1), (_LOWER_TIME, time), (_LENGTH, length)):
        target[to::each] = words[source::step]
    _copy(words, _RECORD + begin // 4, step, target, _DATA, each, size // 4)
    for byte in range(size & ~3, size):
        memoryview(made)[4 * _DATA + byte :: 4 * each] = data[RING_HEADER + begin + byte :: stride]
    at = _DATA + (size + 3) // 4
    if comments.size:
        padded = (comments.size + 3) // 4
        _copy(comments.words, 0, padded, target, at + 1, each, padded)
        at += 1 + padded
    if not is_all(probes, probes[0]):
        found = [places[one] for one in probes.tolist()]
        target[_INTERFACE::each] = memoryview(array("I", [one.interface for one in found]))
        target[at + 1 :: each] = memoryview(array("I", [one.direction for one in found]))
    if record is not None:
        at += len(pcapng.options(places[probes[0]].options)[:-4]) // 4
        _copy(words, _RECORD, step, target, at + RECORD // 4, each, begin // 4)
    return made


def _copy(source: memoryview, at: int, step: int, target: memoryview, to: int, each: int, count: int) -> None:
    """Copy `count` words from word `at` of every `step` to word `to` of every `each`."""
    for word in range(count):
        target[to + word :: each] = source[at + word :: step]


def _joined(texts: Sequence[bytes]) -> _Comments | None:
    """None if they are of different lengths, or cannot be comments as they are."""
    sizes = set(map(len, texts)) or {0}
    if len(sizes) > 1:
        return None
    (size,) = sizes
    padding = bytes(-size & 3)
    joined = padding.join(texts) + padding if size else b""
    if size > pcapng.LONGEST_OPTION or not joined.isascii():
        return None
    return _Comments(size, memoryview(joined).cast("I"))


def _have_directions(places: Mapping[int, InterfacePlace], probes: memoryview) -> bool:
    return all(places[one].direction for one in set(probes.tolist()))


def is_all(column: memoryview, value: int) -> bool:
    """Whether each of some u32 is that one."""
    return column.tobytes() == value.to_bytes(4, "little") * len(column)
