"""Samples of threads that the guardian stops where they run, so that programs can look at them.

A thread that stands can be looked at as at a system call: its whole stack, its memory, the interpreter's frames.
Nothing of the kernel's is needed for that. Threads have clocks that stop them (`tracer/traps.py`). Those that have
none are asked to stop when a clock is due (`tracer/samples.py`). Each that does fires the clocks as often as its CPU
time says: once for each period that it has used since. So who has waited for a CPU when he was asked fires no more than
others, and a program that is held does not lose its samples. Few periods are made up for at one place, the others at
the next ones; what is left when a thread ends is lost, and counted. Where the first period begins is left to chance, or
what runs for less than one would never be seen.

A clock of a thread does not count the time in the kernel: how many periods that are nobody knows.
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
from sonde.engines.embedded.tracer.stops import ASKED, CLOCKED, IN_CALL
from sonde.engines.embedded.tracer.tracees import Tracees
from sonde.model.spec import TracingSpec
from sonde.model.units import SECOND
from sonde.runtime.environment import Environment
from sonde.runtime.programs.ready import called_helpers


def look_at_threads(spec: TracingSpec) -> bool:
    """Whether clocks sample threads for programs that look at them."""
    callees = TailCallees(spec)
    fired = [each for each in spec.programs if any(is_sampling_clock(probe.firing) for probe, _ in each.probes)]
    running = [program for each in fired for program in callees.running(each)]
    return any(called_helpers(each) & USER or samples_registers(each) for each in running)


_AT_ONCE = 16
"""Periods that are made up for at one place."""

_TOLERATED = 8
"""Which part of a period a clock may be late by."""


class Periods:
    """How often each thread is to fire each clock. `begin` gives where a first period begins, of its length. `lost`:
    periods that threads have used up to their end, and nobody has looked at."""

    def __init__(self, begin: Callable[[int], int] = random.randrange) -> None:
        self.lost = 0
        self._begin = begin
        self._before: dict[int, int] = {}
        self._ends: dict[int, dict[int, int]] = {}
        """By thread and clock, the CPU time at which the period ends that the thread is in."""

    def start(self, used: Mapping[int, int]) -> None:
        """What threads that are there have used by now, in ns, does not count."""
        self._before = dict(used)

    def due(self, tid: int, clock: int, period: int, used: int) -> int:
        """How often the thread is to fire the clock, having used so many ns of CPU time in all; once where that is not
        known, which is 0."""
        if not used:
            return 1
        count = min(self._ended(tid, clock, period, used), _AT_ONCE)
        self._ends[tid][clock] += count * period
        return count

    def met(self, tid: int, clock: int, period: int, used: int) -> None:
        """The thread's own clock has stopped it, which is for one period."""
        self._ends.setdefault(tid, {})[clock] = used + period

    def end(self, tid: int, clock: int, period: int, used: int) -> None:
        """The thread ends. What it has not fired yet is lost."""
        if used:
            self.lost += self._ended(tid, clock, period, used)

    def end_with_clock(self, tid: int, clock: int, period: int, used: int, is_due: bool) -> None:
        """The same for one that has a clock of its own, and blocks its signal; `is_due`: the clock would have stopped
        it."""
        ended = (used - self._last(tid, clock, period) - period // _TOLERATED) // period
        self.lost += max(ended, int(is_due))

    def _last(self, tid: int, clock: int, period: int) -> int:
        """The CPU time at which the period has begun that the thread is in."""
        ends = self._ends.get(tid, {})
        return ends[clock] - period if clock in ends else self._before.get(tid, 0)

    def _ended(self, tid: int, clock: int, period: int, used: int) -> int:
        """How many periods the thread has come to the end of since the last one that is done with."""
        ends = self._ends.setdefault(tid, {})
        if clock not in ends:
            ends[clock] = self._before.get(tid, 0) + period - self._begin(period)
        return int(max((used - ends[clock]) // period + 1, 0))

    def forget(self, tid: int) -> None:
        """The thread is gone."""
        self._ends.pop(tid, None)
        self._before.pop(tid, None)


class StoppedSamples:
    """Fires the clocks of `timers` that threads are stopped for."""

    def __init__(self, timers: TimerSource, environment: Environment, periods: Periods) -> None:
        self._timers = timers
        self._environment = environment
        self._periods = periods
        self.traps: tuple[int, ...] = ()
        """The periods of the clocks by which threads stop by themselves; none where all are asked to."""
        self._asked_until = 0
        """Until when those that have no clock are asked each time (monotonic, ns)."""

    def set_traps(self, tracees: Tracees) -> int:
        """Have threads stop by themselves, if the kernel has clocks for that: few are asked then. 0 or an errno."""
        wanted = tuple(dict.fromkeys(self._timers.clocks[number].period for number in self._timers.stopped))
        error = tracees.set_traps(wanted)
        if not error:
            self.traps = wanted
            self._timers.ask_seldom(True)
        return error

    def handle(self, record: Record, task: TracedTask) -> None:
        """The handler of RAN, for a thread whose registers are in the buffer. A clock that counts the process's own
        code alone does not fire in a system call."""
        _, _, tid, when, used, where, which, *_ = record
        environment, timers = self._environment, self._timers
        if self.traps:
            self._ask(which < 0, when)
        for number in timers.stopped:
            clock = timers.clocks[number]
            if which < 0:
                count = self._periods.due(tid, number, clock.period, used)
            elif self.traps[which] == clock.period:
                self._periods.met(tid, number, clock.period, used)
                count = 1
            else:
                continue
            if where & IN_CALL and not clock.in_kernel:
                continue
            for _ in range(count):
                environment.task, environment.now = task, when
                timers.fire(number)

    def end(self, record: Record) -> None:
        """A thread is about to end, having used `b` ns of CPU time."""
        _, _, tid, _, _, used, how, *_ = record
        if how == CLOCKED:
            return
        shortest = min(self.traps, default=0)
        for number in self._timers.stopped:
            period = self._timers.clocks[number].period
            if how == ASKED:
                self._periods.end(tid, number, period, used)
            else:
                self._periods.end_with_clock(tid, number, period, used, period == shortest)

    def _ask(self, is_asked: bool, when: int) -> None:
        """A thread has stopped at that time: as it was asked to, or by itself."""
        if is_asked:
            self._timers.ask_seldom(False)
            self._asked_until = when + SECOND
        elif when > self._asked_until:
            self._timers.ask_seldom(True)
