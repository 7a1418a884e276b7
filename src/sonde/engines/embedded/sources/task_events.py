"""Perf events of the kernel for the traced processes, whose samples are what clocks fire with (perf_event_open(2)).

The kernel takes a sample where a thread runs, with its registers and the top of its stack, and nothing stops. Everybody
may sample his own processes outside of the kernel (kernel.perf_event_paranoid up to 2); where it permits more, the time
they are in the kernel is sampled too, with the registers that they have entered it with.

Each event has rings of its own. Where several events count the same software event, whoever has opened them, the kernel
gives the samples of all the identifier and the time of the first (perf_prepare_sample, kernel/events/core.c).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from time import CLOCK_MONOTONIC

from sonde.arch import perf_registers, registers
from sonde.engines.embedded.sources.inherited_events import InheritedEvents, open_for_each
from sonde.engines.kernel import perf_events
from sonde.formats import perf_events as perf
from sonde.formats.perf_ring import PerfRecord
from sonde.machine.system import monotonic_ns, online_cpus
from sonde.typed import NamedTuple

STACK_SIZE = 16 << 10
"""Bytes of a stack that come with a sample."""

_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 0, 1 << 1, 1 << 5, 1 << 6
_WATERMARK, _USE_CLOCKID = 1 << 14, 1 << 25
_SAMPLE_STACK_USER = 1 << 13
_THROTTLE, _UNTHROTTLE = 5, 6
_ATTRIBUTES = struct.Struct("=IIQQQQQI28xQIi")
"""struct perf_event_attr: type, size, config, period, sample_type, read_format, flags, wakeup, then at 80
sample_regs_user, sample_stack_user, clockid."""

_HEAD = struct.Struct("=IIQ")
"""Process, thread, time."""
_STATE = struct.Struct("=QQ")
"""PERF_RECORD_THROTTLE and _UNTHROTTLE: time, identifier of the event, or of the one it was inherited from."""
_WORD = struct.Struct("=Q")
_TAKEN = struct.Struct(f"={perf_registers.REGISTERS.bit_count()}Q")
_NO_CALL = (1 << 64) - 1


CONTEXT_SWITCHES, CPU_MIGRATIONS = 3, 4
OF_KERNEL = (CONTEXT_SWITCHES, CPU_MIGRATIONS)
"""What happens in the kernel alone."""


class ClockSample(NamedTuple):
    """What the event of that number found of a thread: the address that a counted one tells, struct pt_regs, b"" where
    it was not asked for; the address of the stack, and what is there from it on."""

    time: int
    tid: int
    clock: int
    address: int
    registers: bytes
    sp: int
    stack: bytes


class WantedEvent(NamedTuple):
    """A software event: its number (PERF_COUNT_SW_ of include/uapi/linux/perf_event.h), the ns or the count between two
    samples, whether the kernel counts, too, and whether it is none of the clocks."""

    config: int
    period: int
    in_kernel: bool
    is_counted: bool


class WantedEvents(NamedTuple):
    """Events, and what their samples shall have."""

    events: tuple[WantedEvent, ...]
    registers: bool
    stack: bool


class TaskEvents:
    """`descriptors` are readable when a ring has filled in part. `lost` counts the ticks that found it full, or that
    the kernel left out since they came too fast. `sees_kernel`: whether time in the kernel is sampled."""

    def __init__(self, wanted: WantedEvents, tids: Iterable[int], others: int = 0) -> None:
        """Events of these threads and of all that they make, not yet enabled; `others`: rings that each CPU will have
        besides. Raises OSError."""
        self.sees_kernel = True
        self.wanted = wanted
        self._is_counting = any(each.is_counted for each in wanted.events)
        self._lost = 0
        self._events = tuple(InheritedEvents(len(wanted.events) + others) for _ in wanted.events)
        self._throttled: dict[tuple[int, int], int] = {}
        """By event and identifier, the times since when samples are left out."""
        self._taken_until = monotonic_ns()
        open_for_each(tids, self._open, self.close)

    @property
    def descriptors(self) -> Sequence[int]:
        return [each for events in self._events for each in events.descriptors]

    @property
    def lost(self) -> int:
        return self._lost + sum(events.lost for events in self._events)

    def _open(self, tid: int) -> None:
        for wanted, events in zip(self.wanted.events, self._events, strict=True):
            for cpu in online_cpus():
                events.add(self._open_one(wanted, tid, cpu, events.watermark), cpu)

    def _open_one(self, wanted: WantedEvent, tid: int, cpu: int, watermark: int) -> int:
        if wanted.in_kernel and self.sees_kernel:
            try:
                return perf_events.open_reporting_losses(self._attributes(wanted, 0, watermark), tid, cpu)
            except PermissionError:
                if wanted.config in OF_KERNEL:
                    raise
                self.sees_kernel = False
        made = self._attributes(wanted, _EXCLUDE_KERNEL, watermark)
        return perf_events.open_reporting_losses(made, tid, cpu)

    def _attributes(self, wanted: WantedEvent, flags: int, watermark: int) -> bytearray:
        kinds = perf.SAMPLE_TID | perf.SAMPLE_TIME
        kinds |= perf.SAMPLE_ADDR if self._is_counting else 0
        kinds |= perf.SAMPLE_REGS_USER if self.wanted.registers else 0
        kinds |= _SAMPLE_STACK_USER if self.wanted.stack else 0
        flags |= _DISABLED | _INHERIT | _EXCLUDE_HYPERVISOR | _WATERMARK | _USE_CLOCKID
        made = bytearray(perf.ATTRIBUTES_SIZE)
        _ATTRIBUTES.pack_into(
            made, 0, perf.TYPE_SOFTWARE, len(made), wanted.config, wanted.period, kinds,
            perf.FORMAT_LOST, flags, watermark,
            perf_registers.REGISTERS if self.wanted.registers else 0, STACK_SIZE if self.wanted.stack else 0,
            CLOCK_MONOTONIC,
        )  # fmt: skip
        return made

    def enable(self) -> None:
        """Begin: for what has inherited them as well."""
        for events in self._events:
            events.enable()

    def take(self) -> list[ClockSample]:
        """All samples that are there, of each event and CPU in the order of time."""
        found: list[ClockSample] = []
        begin, end = self._taken_until, monotonic_ns()
        for clock, events in enumerate(self._events):
            for record in events.read():
                self._take_up(record, clock, found)
        self._taken_until, now = end, monotonic_ns()
        return [_within(each, begin, now) for each in found]

    def _take_up(self, record: PerfRecord, clock: int, found: list[ClockSample]) -> None:
        if record.type == perf.RECORD_SAMPLE:
            found.append(self._sample(record.body, clock))
        elif record.type == _THROTTLE:
            time, identifier = _STATE.unpack_from(record.body)
            self._throttled.setdefault((clock, identifier), time)
        elif record.type == _UNTHROTTLE:
            time, identifier = _STATE.unpack_from(record.body)
            begin = self._throttled.pop((clock, identifier), time)
            wanted = self.wanted.events[clock]
            # Of other events nobody knows how many there were.
            self._lost += 1 if wanted.is_counted else (time - begin) // wanted.period

    def _sample(self, body: memoryview, clock: int) -> ClockSample:
        _, tid, time = _HEAD.unpack_from(body)
        place, address, taken, sp, stack = _HEAD.size, 0, b"", 0, b""
        if self._is_counting:
            (address,) = _WORD.unpack_from(body, place)
            place += _WORD.size
        if self.wanted.registers:
            (abi,) = _WORD.unpack_from(body, place)
            place += _WORD.size
            if abi:
                taken, sp = perf_registers.pt_regs(_TAKEN.unpack_from(body, place), _NO_CALL)
                place += _TAKEN.size
            else:
                # The thread has no memory of its own any more.
                taken = bytes(registers.SIZE)
        if self.wanted.stack:
            (size,) = _WORD.unpack_from(body, place)
            if size:
                (filled,) = _WORD.unpack_from(body, place + _WORD.size + size)
                stack = bytes(body[place + _WORD.size : place + _WORD.size + filled])
        return ClockSample(time, tid, clock, address, taken, sp, stack)

    def close(self) -> None:
        """Closing twice is harmless."""
        for events in self._events:
            events.close()


def _within(sample: ClockSample, begin: int, end: int) -> ClockSample:
    """The sample with a time between those: another may be one of another clock, of an event that counts the same."""
    return sample if begin <= sample.time <= end else sample._replace(time=min(max(sample.time, begin), end))
