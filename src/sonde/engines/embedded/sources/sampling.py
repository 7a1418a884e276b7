"""Samples of running threads as clocks fire with them, in one order with the records of stops.

A sample is there when its thread already runs on. Its registers and the top of its stack are what they were; other
memory is read as it is by then, but for the rest of the stack, which may be another's by then and is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from errno import EFAULT

from sonde.bpf.helpers import CPU_TIME, OPEN_FILE, PATH_TEXT
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.sources.firings import Clock
from sonde.engines.embedded.sources.inherited_events import why_not
from sonde.engines.embedded.sources.interleaving import Interleaving
from sonde.engines.embedded.sources.registers import samples_registers
from sonde.engines.embedded.sources.stops import SAMPLED, Handler, Record
from sonde.engines.embedded.sources.tail_callees import TailCallees
from sonde.engines.embedded.sources.task import TracedTask
from sonde.engines.embedded.sources.task_events import ClockSample, TaskEvents, WantedEvent, WantedEvents
from sonde.engines.embedded.sources.timers import TimerSource
from sonde.engines.embedded.sources.wishes import STACK, USER
from sonde.engines.embedded.tracer.stops import EXIT
from sonde.machine.facts import facts
from sonde.machine.system import monotonic_ns
from sonde.model.errors import EngineError
from sonde.model.spec import ProgramSpec
from sonde.runtime.environment import Environment
from sonde.runtime.programs.ready import called_helpers

_BEYOND = 1 << 20
"""Bytes above what came of a stack in which there may be more of it."""

_OFTEN = 20_000_000
"""ns between two looks at the rings."""


class SampledMemory:
    """The memory of the thread that a sample is of; without a sample what `read` (thread, address, size) gives."""

    def __init__(self, read: Callable[[int, int, int], bytes]) -> None:
        self._read = read
        self.sample: ClockSample | None = None
        self._begins: dict[int, int] = {}

    def read(self, tid: int, address: int, size: int) -> bytes:
        """Raises OSError."""
        sample = self.sample
        if sample is None or address + size <= sample.sp:
            return self._read(tid, address, size)
        offset, end = address - sample.sp, sample.sp + len(sample.stack)
        if offset >= 0 and address + size <= end:
            return sample.stack[offset : offset + size]
        if address < end + _BEYOND and not self._is_above(tid, address):
            raise OSError(EFAULT, os.strerror(EFAULT))
        return self._read(tid, address, size)

    def _is_above(self, tid: int, address: int) -> bool:
        """Whether that is above where the process's stack begins: its arguments and environment."""
        begin = self._begins.get(tid)
        if begin is None:
            found = facts(tid)
            begin = self._begins[tid] = found.stack if found is not None and found.tid == found.pid else 0
        return bool(begin) and address >= begin

    def look_again(self) -> None:
        """Processes may have other programs than when this was last called."""
        self._begins.clear()


_OF_STANDING = {OPEN_FILE: "files of fds[]", CPU_TIME: "times of vtimestamp", PATH_TEXT: "cwd, root and paths of files"}


def require_running(probe: str, program: ProgramSpec) -> None:
    """Raises EngineError for a program that asks what is told of a thread only while it stands."""
    helpers = called_helpers(program)
    asked = next((name for number, name in _OF_STANDING.items() if number in helpers), "")
    if asked:
        raise EngineError(
            f"{probe}: {asked} are told of a thread that stands, and it runs on here; "
            "syscall and proc probes have them, or the kernel engine (root, or CAP_BPF and CAP_PERFMON)"
        )


def open_events(
    clocks: Sequence[Clock], callees: TailCallees, tids: Callable[[], Iterable[int]],
    is_recorded: bool, keeps_stacks: bool = False, others: int = 0,
) -> TaskEvents | None:  # fmt: skip
    """Events of the threads for the clocks that have samples, which are recorded, too, if `is_recorded`. `callees` may
    run where one is fired. `keeps_stacks`: they have the stack whether programs look at it or not. `others` as in
    TaskEvents. None where the kernel gives none and programs can do without. Raises EngineError."""
    sampled = [clock for clock in clocks if clock.samples]
    programs = []
    for clock in sampled:
        for each in callees.running(clock.program.spec):
            require_running(clock.name, each)
            programs.append(each)
    helpers = frozenset[int]().union(*map(called_helpers, programs))
    stack = bool(helpers & (USER | STACK))
    registers = stack or is_recorded or any(map(samples_registers, programs))
    wanted = WantedEvents(
        tuple(dict.fromkeys(map(_event, sampled))), registers or keeps_stacks, stack or keeps_stacks
    )  # fmt: skip
    try:
        return TaskEvents(wanted, tids(), others)
    except OSError as error:
        counted = next((clock for clock in sampled if clock.is_counted), None)
        if counted is not None:
            raise EngineError(f"{counted.name}: the kernel counts it for nobody here: {why_not(error)}") from None
        if registers:
            text = "a thread's registers and stack where it runs are not to be had without the kernel's samples"
            help_ = "what counts by pid, tid or execname works without"
            raise EngineError(f"{sampled[0].name}: {text}: {why_not(error)}; {help_}") from None
        return None


class UnsampledTime:
    """CPU time that threads have used up to their end, each less than a period, behind their last samples."""

    def __init__(self) -> None:
        self._before: dict[int, int] = {}
        self._samples: dict[tuple[int, int], int] = {}
        """By thread and event."""
        self._left: dict[tuple[int, int], int] = {}
        """By event and its period, the ns that are left of threads that have ended."""

    def start(self, used: Mapping[int, int]) -> None:
        """What threads that are there have used by now, in ns, does not count."""
        self._before = dict(used)

    def sampled(self, tid: int, event: int) -> None:
        """There is a sample of the thread."""
        self._samples[tid, event] = self._samples.get((tid, event), 0) + 1

    def end(self, tid: int, event: int, period: int, used: int, is_exact: bool) -> None:
        """A thread ends, having used so many ns. Behind a sample it has less than a period left, and without one if the
        event does not count all that time (`is_exact`)."""
        count, time = self._samples.pop((tid, event), 0), used - self._before.get(tid, 0)
        left = time if is_exact and not count else min(max(time - count * period, 0), period - 1)
        self._left[event, period] = self._left.get((event, period), 0) + left

    def forget(self, tid: int) -> None:
        """The thread is gone."""
        self._before.pop(tid, None)
        for each in [each for each in self._samples if each[0] == tid]:
            del self._samples[each]

    @property
    def lost(self) -> int:
        """Whole periods of what is left of all together."""
        return sum(left // period for (_, period), left in self._left.items())


def _event(clock: Clock) -> WantedEvent:
    return WantedEvent(clock.config, clock.period, clock.in_kernel, clock.is_counted)


class Sampling:
    """Fires the clocks of `timers` that are sampled; `task` finds a thread. `lost` counts ticks without a sample."""

    kind = SAMPLED

    def __init__(
        self, events: TaskEvents, memory: SampledMemory, environment: Environment, buffers: Buffers,
        timers: TimerSource, task: Callable[[int], TracedTask | None],
    ) -> None:  # fmt: skip
        self.events = events
        self.next = 0
        """When the rings are to be looked at, in ns of CLOCK_MONOTONIC."""
        self._memory = memory
        self._environment = environment
        self._buffers = buffers
        self._fire = timers.fire
        self._clocks: list[list[int]] = [[] for _ in events.wanted.events]
        """By the place of an event, the numbers of clocks that fire with it."""
        for number in timers.sampled:
            self._clocks[events.wanted.events.index(_event(timers.clocks[number]))].append(number)
        self._task = task
        self._lost = 0
        self._unsampled = UnsampledTime()
        self._order = Interleaving(SAMPLED)

    @property
    def lost(self) -> int:
        return self.events.lost + self._lost + self._unsampled.lost

    def watch(self, handlers: dict[int, Handler]) -> None:
        """See threads end."""
        exiting = handlers[EXIT]

        def end(record: Record) -> None:
            _, _, tid, _, _, used, *_ = record
            if used:
                for number, event in enumerate(self.events.wanted.events):
                    if not event.is_counted:
                        self._unsampled.end(tid, number, event.period, used, self.events.sees_kernel)
            self._unsampled.forget(tid)
            exiting(record)

        handlers[EXIT] = end

    def begin(self, used: Mapping[int, int]) -> None:
        """What threads that are there have used by now, in ns, does not count."""
        self._unsampled.start(used)

    def start(self) -> None:
        self.next = monotonic_ns() + _OFTEN
        self.events.enable()

    def merged(self, records: Sequence[Record], limit: int) -> Sequence[Record]:
        """The records, and among them the samples up to that time, behind which there may be other records."""
        self.next = monotonic_ns() + _OFTEN
        self._memory.look_again()
        return self._order.merged(records, self.events.take(), limit)

    def handle(self, record: Record) -> None:
        """The handler of SAMPLED."""
        sample: ClockSample = self._order.event(record)
        self._unsampled.sampled(sample.tid, sample.clock)
        task = self._task(sample.tid)
        if task is None:
            self._lost += 1
            return
        self._buffers.registers[:] = sample.registers or bytes(len(self._buffers.registers))
        self._environment.task, self._environment.now = task, sample.time
        self._memory.sample = sample
        try:
            for number in self._clocks[sample.clock]:
                self._fire(number, sample.address)
        finally:
            self._memory.sample = None

    def close(self) -> None:
        self.events.close()
