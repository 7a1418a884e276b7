"""The rings that let-through samples are written to: one for each CPU, of an event that counts nothing and tells what
processes map, execute and start. Other events of that CPU write to it as well (PERF_EVENT_IOC_SET_OUTPUT).

Where several events count the same software event, whoever has opened them, the kernel gives the samples of all the
identifier and the time of the first: they share one struct perf_sample_data, in which both count as filled
(do_perf_sw_event and perf_prepare_sample, kernel/events/core.c). Such an event has rings of its own, which tell whose
its samples are. The time may be of another clock: one outside of the interval in which the sample was taken is replaced
by the interval's nearer end.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from sonde.engines.kernel import perf_events
from sonde.engines.kernel.event_ring import EventRing
from sonde.formats import perf_events as perf
from sonde.machine.system import monotonic_ns
from sonde.model.samples import SAMPLE_TYPE, SampledEvent, Take

_WAKEUPS = 4
"""A reader is woken when a ring is filled by one part in so many."""
_LOST_COUNT = struct.Struct("=8xQ")
"""Of the body of a PERF_RECORD_LOST: u64 id, u64 lost."""
_HEADER = perf.HEADER
_WORD = struct.Struct("=Q")
_SAMPLE_TIME, _TIME_FROM_END = perf.HEADER_SIZE + 24, 24
"""Where `SAMPLE_TYPE` puts the time into a sample, and into what ends with struct sample_id."""


class OwnRing:
    """The ring of one event on one CPU; `identifier` is the event's, once it is known."""

    def __init__(self, ring: EventRing) -> None:
        self.ring = ring
        self.identifier = 0

    def take(self, since: int) -> list[tuple[int, bytes]]:
        """All records that were written since that time, each with its time; samples with the event's identifier."""
        data = self.ring.reader.unread()
        until = monotonic_ns()
        found = [self._own(each, since, until) for each in _records(data)]
        data.release()
        self.ring.reader.advance()
        return found

    def _own(self, record: memoryview, since: int, until: int) -> tuple[int, bytes]:
        kind, _, _ = _HEADER.unpack_from(record)
        is_sample = kind == perf.RECORD_SAMPLE
        made = bytearray(record)
        _WORD.pack_into(made, _HEADER.size if is_sample else len(made) - _WORD.size, self.identifier)
        moment = _time_of(record)
        if is_sample and not since <= moment <= until:
            moment = min(max(moment, since), until)
            _WORD.pack_into(made, _SAMPLE_TIME, moment)
        return moment, bytes(made)


class SampleRings:
    """Raises OSError. `lost` counts what PERF_RECORD_LOST tells of, whatever it was."""

    def __init__(self, cpus: Sequence[int], size: int) -> None:
        self.lost = 0
        self._is_over = False
        self._drained = monotonic_ns()
        self._size = size
        self._rings: dict[int, EventRing] = {}
        self._own: dict[tuple[int, int], OwnRing] = {}
        self._early: dict[int, list[tuple[int, bytes]]] = {}
        """By CPU, with their times, records before which others may still come."""
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
        own = (each.ring for each in self._own.values())
        return tuple(ring.descriptor for ring in (*self._rings.values(), *own))

    @property
    def side_band(self) -> SampledEvent:
        """The event that tells of processes, as perf calls it."""
        ids = tuple(perf_events.identifier(each.descriptor) for each in self._rings.values())
        return SampledEvent("dummy", bytes(self._attributes), ids)

    def output(self, cpu: int) -> int:
        """The event whose ring the events of this CPU write to."""
        return self._rings[cpu].descriptor

    def own_output(self, cpu: int, number: int) -> int:
        """The same for the event of that number, which has a ring of its own. Raises OSError."""
        if (cpu, number) not in self._own:
            holder = perf_events.ring_holder(self._size // _WAKEUPS)
            self._own[cpu, number] = OwnRing(EventRing(perf_events.open_on_cpu(holder, cpu), self._size))
            self._early.setdefault(cpu, [])
        return self._own[cpu, number].ring.descriptor

    def identify(self, cpu: int, number: int, identifier: int) -> None:
        """What the samples in that ring are known by."""
        self._own[cpu, number].identifier = identifier

    def enable(self) -> None:
        """Begin to tell of processes."""
        for ring in self._rings.values():
            perf_events.enable(ring.descriptor)

    def disable(self) -> None:
        """Nothing is written any more."""
        self._is_over = True
        for ring in self._rings.values():
            perf_events.disable(ring.descriptor)

    def lost_beside(self) -> int:
        """How many of the records about processes were lost, 0 where the kernel does not tell."""
        return perf_events.lost_records(ring.descriptor for ring in self._rings.values()) or 0

    def drain(self, take: Take) -> None:
        """Hand over all whole records that are there: those of a CPU with several rings up to the moment that this
        begins, in the order of time."""
        now = monotonic_ns()
        for cpu, ring in self._rings.items():
            data = ring.reader.unread()
            if cpu in self._early:
                self._drain_several(cpu, data, now, take)
            elif data:
                self.lost += _count_lost(data)
                take(cpu, data)
                data.release()
            ring.reader.advance()
        self._drained = now

    def _drain_several(self, cpu: int, shared: memoryview, until: int, take: Take) -> None:
        found = [*self._early[cpu], *((_time_of(each), bytes(each)) for each in _records(shared))]
        for (of, _), own in self._own.items():
            found += own.take(self._drained) if of == cpu else ()
        # Sorting is stable: records of a ring stay as they are where their times are equal.
        found.sort(key=_moment)
        due = [record for moment, record in found if moment <= until or self._is_over]
        self._early[cpu] = found[len(due) :]
        if due:
            data = memoryview(b"".join(due))
            self.lost += _count_lost(data)
            take(cpu, data)

    def close(self) -> None:
        """Closing twice is harmless."""
        for ring in (*self._rings.values(), *(each.ring for each in self._own.values())):
            ring.close()
        self._rings, self._own = {}, {}


def _records(data: memoryview) -> Iterator[memoryview]:
    position = 0
    while position < len(data):
        _, _, size = _HEADER.unpack_from(data, position)
        size = size or len(data)
        yield data[position : position + size]
        position += size


def _time_of(record: memoryview) -> int:
    """Of a sample it stands behind identifier, ip and thread, of others before CPU and identifier at the end."""
    kind, _, _ = _HEADER.unpack_from(record)
    return int(
        _WORD.unpack_from(record, _SAMPLE_TIME if kind == perf.RECORD_SAMPLE else len(record) - _TIME_FROM_END)[0]
    )


def _moment(timed: tuple[int, bytes]) -> int:
    return timed[0]


def _count_lost(data: memoryview) -> int:
    position = lost = 0
    while position < len(data):
        kind, _, size = _HEADER.unpack_from(data, position)
        if kind == perf.RECORD_LOST:
            lost += _LOST_COUNT.unpack_from(data, position + perf.HEADER_SIZE)[0]
        position += size or len(data)
    return lost
