"""Samples of threads that the guardian stops where they run, so that programs can look at them.

A thread that stands can be looked at as at a system call: its whole stack, its memory, the interpreter's frames.
Nothing of the kernel's is needed for that. When a clock is due, threads that run are asked to stop
(`tracer/samples.py`), and each that does fires the clocks as often as its CPU time says: once for each period that it
has used since. So who has waited for a CPU when he was asked fires no more than others, and it does not matter how late
sonde is. Where the first period begins is left to chance, or what runs for less than one would never be seen.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from sonde.engines.embedded.sources.firings import is_sampling_clock
from sonde.engines.embedded.sources.registers import samples_registers
from sonde.engines.embedded.sources.stops import Record
from sonde.engines.embedded.sources.tail_callees import TailCallees
from sonde.engines.embedded.sources.task import TracedTask
from sonde.engines.embedded.sources.timers import TimerSource
from sonde.engines.embedded.sources.wishes import USER
from sonde.model.spec import TracingSpec
from sonde.runtime.environment import Environment
from sonde.runtime.programs.ready import called_helpers


def look_at_threads(spec: TracingSpec) -> bool:
    """Whether clocks sample threads for programs that look at them."""
    callees = TailCallees(spec)
    fired = [each for each in spec.programs if any(is_sampling_clock(probe.firing) for probe, _ in each.probes)]
    running = [program for each in fired for program in callees.running(each)]
    return any(called_helpers(each) & USER or samples_registers(each) for each in running)


class Periods:
    """How often each thread is to fire each clock. `begin` gives where a first period begins, of its length."""

    def __init__(self, begin: Callable[[int], int] = random.randrange) -> None:
        self._begin = begin
        self._before: dict[int, int] = {}
        self._ends: dict[int, dict[int, int]] = {}
        """By thread and clock, the CPU time at which the period ends that the thread is in."""

    def start(self, used: Mapping[int, int]) -> None:
        """What threads that are there have used by now, in ns, does not count."""
        self._before = dict(used)

    def ended(self, tid: int, clock: int, period: int, used: int) -> int:
        """How many periods of the clock the thread has come to the end of since this was last asked, having used so
        many ns of CPU time in all; 1 where that is not known, which is 0."""
        if not used:
            return 1
        ends = self._ends.setdefault(tid, {})
        end = ends.get(clock)
        if end is None:
            end = self._before.get(tid, 0) + period - self._begin(period)
        count = max((used - end) // period + 1, 0)
        ends[clock] = end + count * period
        return count

    def forget(self, tid: int) -> None:
        """The thread has ended."""
        self._ends.pop(tid, None)
        self._before.pop(tid, None)


class StoppedSamples:
    """Fires the clocks of `timers` that threads are stopped for."""

    def __init__(self, timers: TimerSource, environment: Environment, periods: Periods) -> None:
        self._timers = timers
        self._environment = environment
        self._periods = periods

    def handle(self, record: Record, task: TracedTask) -> None:
        """The handler of RAN, for a thread whose registers are in the buffer. A clock that counts the process's own
        code alone does not fire in a system call."""
        _, _, tid, when, used, in_call, *_ = record
        environment, timers = self._environment, self._timers
        for number in timers.stopped:
            clock = timers.clocks[number]
            count = self._periods.ended(tid, number, clock.period, used)
            if in_call and not clock.in_kernel:
                continue
            for _ in range(count):
                environment.task, environment.now = task, when
                timers.fire(number)
