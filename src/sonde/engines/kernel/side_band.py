"""What all processes map, execute and make, and when they end, as perf tells it on the side: the records of an event
that counts nothing, one on each CPU (perf_event_open(2), attr.mmap2, comm_exec and task)."""

from __future__ import annotations

import struct

from sonde.engines.kernel.event_ring import EventRing
from sonde.engines.kernel.perf_events import FLAG_CLOSE_ON_EXEC
from sonde.engines.kernel.process_records import SAMPLE_TYPE, decode
from sonde.engines.kernel.syscalls import perf_event_open
from sonde.formats import perf_events as perf
from sonde.formats.perf_ring import BrokenRingError
from sonde.machine.system import monotonic_ns, online_cpus
from sonde.symbols.process_events import ProcessEvent

_EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 5, 1 << 6
_MMAP, _COMM, _TASK, _WATERMARK, _SAMPLE_ID_ALL = 1 << 8, 1 << 9, 1 << 13, 1 << 14, 1 << 18
_MMAP2, _COMM_EXEC, _USE_CLOCKID = 1 << 23, 1 << 24, 1 << 25
_FLAGS = (
    _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR | _MMAP | _COMM | _TASK | _WATERMARK | _SAMPLE_ID_ALL | _MMAP2 | _COMM_EXEC
    | _USE_CLOCKID
)  # fmt: skip
_CLOCK_MONOTONIC = 1

_SIZE = 1 << 20
"""Bytes for records on each CPU."""

_LOST_IDENTITY_AND_COUNT = struct.Struct("=QQ")


class SideBand:
    """Raises OSError where perf does not allow it. `lost` counts the records that found a buffer full."""

    def __init__(self) -> None:
        self.lost = 0
        self._early: list[ProcessEvent] = []
        self._rings: list[EventRing] = []
        try:
            for cpu in online_cpus():
                self._rings.append(EventRing(_open(cpu), _SIZE))
        except BaseException:
            self.close()
            raise

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Readable when something has happened."""
        return tuple(ring.descriptor for ring in self._rings)

    def read(self) -> list[ProcessEvent]:
        """What has happened since the last time, in order: what happens on another CPU meanwhile waits, as something
        earlier may still be on its way."""
        now = monotonic_ns()
        events, self._early = self._early, []
        for ring in self._rings:
            self._read_ring(ring, events)
        events.sort(key=_time_of)
        while events and events[-1].time > now:
            self._early.append(events.pop())
        return events

    def advance(self, pid: int) -> int | None:
        """None: programs record no generations."""

    def _read_ring(self, ring: EventRing, events: list[ProcessEvent]) -> None:
        try:
            for record in ring.reader.read():
                if record.type == perf.RECORD_LOST:
                    self.lost += _LOST_IDENTITY_AND_COUNT.unpack_from(record.body)[1]
                else:
                    event = decode(record)
                    if event is not None:
                        events.append(event)
        except (BrokenRingError, struct.error):
            self.lost += 1
            ring.reader.skip()
            return
        ring.reader.advance()

    def close(self) -> None:
        for ring in self._rings:
            ring.close()
        self._rings = []


def _time_of(event: ProcessEvent) -> int:
    return event.time


def _open(cpu: int) -> int:
    attributes = bytearray(perf.ATTRIBUTES_SIZE)
    struct.pack_into(
        "=IIQQQQQI", attributes, 0, perf.TYPE_SOFTWARE, perf.ATTRIBUTES_SIZE, perf.SOFTWARE_DUMMY, 0, SAMPLE_TYPE, 0,
        _FLAGS, 1,
    )  # fmt: skip
    struct.pack_into("=i", attributes, 92, _CLOCK_MONOTONIC)
    return perf_event_open(attributes, -1, cpu, -1, FLAG_CLOSE_ON_EXEC)
