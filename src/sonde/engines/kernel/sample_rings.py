"""The rings that let-through samples are written to: one for each CPU, of an event that counts nothing and tells what
processes map, execute and start. Other events of that CPU write to it as well (PERF_EVENT_IOC_SET_OUTPUT)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sonde.engines.kernel import perf_events
from sonde.engines.kernel.event_ring import EventRing
from sonde.formats import perf_events as perf
from sonde.model.samples import SAMPLE_TYPE, SampledEvent, Take

_WAKEUPS = 4
"""A reader is woken when a ring is filled by one part in so many."""
_LOST_COUNT = struct.Struct("=8xQ")
"""Of the body of a PERF_RECORD_LOST: u64 id, u64 lost."""
_HEADER = perf.HEADER


class SampleRings:
    """Raises OSError. `lost` counts what PERF_RECORD_LOST tells of, whatever it was."""

    def __init__(self, cpus: Sequence[int], size: int) -> None:
        self.lost = 0
        self._rings: dict[int, EventRing] = {}
        self._attributes = perf_events.side_band(SAMPLE_TYPE, size // _WAKEUPS)
        try:
            for cpu in cpus:
                self._rings[cpu] = EventRing(perf_events.open_on_cpu(self._attributes, cpu), size)
        except BaseException:
            self.close()
            raise

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Readable when a ring has filled in part."""
        return tuple(ring.descriptor for ring in self._rings.values())

    @property
    def side_band(self) -> SampledEvent:
        """The event that tells of processes, as perf calls it."""
        ids = tuple(perf_events.identifier(each.descriptor) for each in self._rings.values())
        return SampledEvent("dummy", bytes(self._attributes), ids)

    def output(self, cpu: int) -> int:
        """The event whose ring the events of this CPU write to."""
        return self._rings[cpu].descriptor

    def enable(self) -> None:
        """Begin to tell of processes."""
        for ring in self._rings.values():
            perf_events.enable(ring.descriptor)

    def disable(self) -> None:
        for ring in self._rings.values():
            perf_events.disable(ring.descriptor)

    def lost_beside(self) -> int:
        """How many of the records about processes were lost, 0 where the kernel does not tell."""
        return perf_events.lost_records(ring.descriptor for ring in self._rings.values()) or 0

    def drain(self, take: Take) -> None:
        """Hand over all whole records that are there."""
        for cpu, ring in self._rings.items():
            data = ring.reader.unread()
            if data:
                self.lost += _count_lost(data)
                take(cpu, data)
                data.release()
            ring.reader.advance()

    def close(self) -> None:
        """Closing twice is harmless."""
        for ring in self._rings.values():
            ring.close()
        self._rings = {}


def _count_lost(data: memoryview) -> int:
    position = lost = 0
    while position < len(data):
        kind, _, size = _HEADER.unpack_from(data, position)
        if kind == perf.RECORD_LOST:
            lost += _LOST_COUNT.unpack_from(data, position + perf.HEADER_SIZE)[0]
        position += size or len(data)
    return lost
