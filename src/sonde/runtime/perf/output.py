"""bpf_perf_event_output: a program's data, and bytes of its packet behind them, as the raw part of a sample.

The flags are those of include/uapi/linux/bpf.h: the event's index or BPF_F_CURRENT_CPU in the lower 32 bits, how many
bytes of the packet to append in the 20 bits from bit 32 on (BPF_F_CTXLEN_MASK), which only programs with a packet may
use.

`reserve` is the engine's own bpf_perf_event_reserve, whose flags are the event's index alone.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence

from sonde.formats import perf_events as perf
from sonde.runtime.perf.events import OpenPerfEvent
from sonde.runtime.perf.packet_pieces import PacketBytes
from sonde.runtime.perf.raw import Fragment, RawRecord
from sonde.runtime.perf.ring import PerfRing
from sonde.runtime.perf.sample import Sample

INDEX_MASK = 0xFFFFFFFF
CURRENT_CPU = 0xFFFFFFFF
CONTEXT_LENGTH_SHIFT = 32
CONTEXT_LENGTH_MASK = 0xFFFFF << CONTEXT_LENGTH_SHIFT

CPU = 0
"""The one processor of the engine."""


def perf_event_output(
    events: Sequence[OpenPerfEvent | None],
    flags: int,
    data: memoryview,
    packet: PacketBytes | None,
    sample: Callable[[], Sample],
) -> int:
    """Write `data` to the event of a perf event array's `events` that the flags name: 0 or -errno.

    `packet` is that of the program's context, None for program types without one. `sample` tells the other fields of
    the moment; it is asked only if a record is written.
    """
    fragment = None
    if packet is None:
        if flags & ~INDEX_MASK:
            return -errno.EINVAL
    else:
        if flags & ~(CONTEXT_LENGTH_MASK | INDEX_MASK):
            return -errno.EINVAL
        length = (flags & CONTEXT_LENGTH_MASK) >> CONTEXT_LENGTH_SHIFT
        if length > packet.length:
            return -errno.EFAULT
        fragment = Fragment(length, copy=packet.copy) if length else None
    event = _event(events, flags & INDEX_MASK)
    if isinstance(event, int):
        return event
    taken = sample()
    taken.raw = RawRecord(Fragment(len(data), data, next_=fragment))
    return event.output(taken)


def reserve(
    events: Sequence[OpenPerfEvent | None], size: int, flags: int, sample: Callable[[], Sample]
) -> tuple[PerfRing, int] | None:
    """Room for `size` raw bytes of a sample of the event that the flags name: the ring, and where in its `direct`; None
    if there is none, or no such event."""
    event = _event(events, flags) if not flags & ~INDEX_MASK else None
    if not isinstance(event, OpenPerfEvent):
        return None
    at = event.reserve(sample(), size)
    ring = event.ring
    return None if at < 0 or ring is None else (ring, at)


def _event(events: Sequence[OpenPerfEvent | None], index: int) -> OpenPerfEvent | int:
    """The event, or -errno, in the order in which __bpf_perf_event_output asks (kernel/trace/bpf_trace.c)."""
    if index == CURRENT_CPU:
        index = CPU
    if index >= len(events):
        return -errno.E2BIG
    event = events[index]
    if event is None:
        return -errno.ENOENT
    attributes = event.attributes
    if (attributes.type, attributes.config) != (perf.TYPE_SOFTWARE, perf.SOFTWARE_BPF_OUTPUT):
        return -errno.EINVAL
    if event.cpu != CPU:
        return -errno.EOPNOTSUPP
    return event
