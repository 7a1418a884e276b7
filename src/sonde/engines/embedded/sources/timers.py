"""tick-n and profile-n: programs run as time passes.

tick-n runs once each time, for sonde itself, with no registers. profile-n fires with samples of the traced threads:
for programs that look at these when they have been stopped (stopped_samples.py), which is asked for here, else with the
kernel's (sampling.py). Where the kernel gives none, /proc tells which threads run or wait for a CPU: programs that look
at neither registers nor stacks run with these, and nothing is stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from sonde.engines.embedded.sources import clock_events
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.sources.firings import Clock
from sonde.engines.embedded.sources.threads import Threads
from sonde.machine.facts import state
from sonde.machine.system import monotonic_ns
from sonde.model.units import MILLISECOND
from sonde.runtime.environment import Environment, Task
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.embedded.sources.sample_ring import SampleRing


_EARLIEST = 0.75
_TURN = 0.618
"""Threads are asked to stop again after 0.75 to 1.25 periods, each time another part of these: what a program does in
turns of the same length is not to meet samples always in the same place."""


_SELDOM = 50 * MILLISECOND


class TimerSource:
    """The clocks of those numbers that are `sampled` fire with the kernel's samples, those that are `stopped` with
    threads that have stopped, which `ask` has them do. `ring` is where samples go that programs let through."""

    def __init__(
        self, clocks: Sequence[Clock], threads: Threads, environment: Environment, buffers: Buffers,
        sampled: Collection[int] = (), ring: SampleRing | None = None, stopped: Collection[int] = (),
        ask: Callable[[], None] | None = None,
    ) -> None:  # fmt: skip
        self.clocks = clocks
        self.sampled, self.stopped = sampled, stopped
        self._ask = ask
        self._turn = 0.0
        self._longer = 0
        self._timed = [n for n in range(len(clocks)) if n not in self.sampled]
        self._events = _events(clocks, environment, buffers, ring)
        self.fire: Callable[..., None] = self._events.overflow if self._events is not None else _fire_nothing
        """To be called with a clock's number, the firing's thread and registers being set."""
        self._threads = threads
        self._environment = environment
        self._buffers = buffers
        self._own = environment.task
        self._due: dict[int, int] = {}
        self.next = 0
        """When there is something to do, in ns of CLOCK_MONOTONIC; 0 if never."""
        self.lost = 0
        """Samples that were due and not taken: sonde came too late for them."""

    @property
    def skipped(self) -> int:
        """Firings that came while a program of a clock ran, and were dropped."""
        return self._events.skipped if self._events is not None else 0

    def ask_seldom(self, is_seldom: bool) -> None:
        """Whether most threads stop by themselves for the clocks that are `stopped`: the others, if there are any, are
        asked a few times a second."""
        self._longer = _SELDOM if is_seldom else 0

    def forget(self, tid: int) -> None:
        """The thread has ended."""
        if self._events is not None:
            self._events.forget(tid)

    def start(self) -> None:
        now = monotonic_ns()
        asked = () if self._ask is None else self.stopped
        timed = [number for number in self._timed if number in asked or number not in self.stopped]
        self._due = {number: now + self.clocks[number].period for number in timed}
        self.next = min(self._due.values(), default=0)

    def advance(self, now: int) -> None:
        """Do what is due. A clock that is late by more than a period leaves those out, as a perf event does."""
        sampling = []
        is_asking = False
        for number, due in self._due.items():
            if due > now:
                continue
            clock = self.clocks[number]
            if number in self.stopped:
                self._turn = (self._turn + _TURN) % 1
                self._due[number] = now + int(max(clock.period, self._longer) * (_EARLIEST + self._turn / 2))
                is_asking = True
                continue
            late = (now - due) // clock.period
            self._due[number] = due + clock.period * (late + 1)
            if clock.samples:
                self.lost += late
                sampling.append(number)
            else:
                self._run(number, self._own, now)
        self.next = min(self._due.values(), default=0)
        if sampling:
            self._look(sampling, now)
        if is_asking and self._ask is not None:
            self._ask()

    def _look(self, sampling: Sequence[int], now: int) -> None:
        """Sample the threads that run."""
        for tid, task in tuple(self._threads.by_tid.items()):
            if state(tid) == "R":
                for number in sampling:
                    self._run(number, task, now)

    def _run(self, number: int, task: Task, now: int) -> None:
        environment, buffers = self._environment, self._buffers
        buffers.registers[:] = bytes(len(buffers.registers))
        environment.task, environment.now = task, now
        self.fire(number)


def _events(
    clocks: Sequence[Clock], environment: Environment, buffers: Buffers, ring: SampleRing | None
) -> clock_events.ClockEvents | None:
    if not clocks:
        return None

    return clock_events.ClockEvents(clocks, environment, buffers, ring)


def _fire_nothing(number: int, address: int = 0) -> None:
    pass
