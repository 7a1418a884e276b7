"""tick-n and profile-n: programs run as time passes.

tick-n runs once each time, for sonde itself, with no registers. profile-n looks at the traced threads that run: each is
stopped for a moment and sampled with its registers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from sonde.engines.embedded.environment import Environment
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.sources.firings import Clock
from sonde.engines.embedded.task import Task
from sonde.engines.embedded.threads import Threads
from sonde.target.facts import state
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.embedded.sources.sample_ring import SampleRing


class TimerSource:
    """`interrupt` has a thread stop for its sample. `ring` is where samples go that programs let through."""

    def __init__(
        self, clocks: Sequence[Clock], threads: Threads, environment: Environment, buffers: Buffers,
        interrupt: Callable[[int], None], ring: SampleRing | None = None,
    ) -> None:  # fmt: skip
        self._clocks = clocks
        self._fire = _firing(clocks, environment, buffers, ring)
        self._threads = threads
        self._environment = environment
        self._buffers = buffers
        self._interrupt = interrupt
        self._own = environment.task
        self._due: list[int] = []
        self.next = 0
        """When there is something to do, in ns of CLOCK_MONOTONIC; 0 if never."""
        self._wanted: dict[int, set[int]] = {}
        """For each thread that has been asked to stop, the clocks that want its sample."""

    def start(self) -> None:
        now = time.monotonic_ns()
        self._due = [now + clock.period for clock in self._clocks]
        self.next = min(self._due, default=0)

    def advance(self, now: int) -> None:
        """Do what is due. A clock that is late by more than a period leaves those out, as a perf event does."""
        sampling = []
        for number, due in enumerate(self._due):
            if due > now:
                continue
            clock = self._clocks[number]
            self._due[number] = due + clock.period * ((now - due) // clock.period + 1)
            if clock.samples:
                sampling.append(number)
            else:
                self._tick(number, now)
        self.next = min(self._due, default=0)
        if sampling:
            self._ask(sampling)

    def _tick(self, number: int, now: int) -> None:
        environment, buffers = self._environment, self._buffers
        buffers.registers[:] = bytes(len(buffers.registers))
        environment.task, environment.now = self._own, now
        self._fire(number)

    def _ask(self, sampling: Sequence[int]) -> None:
        """Have the threads stopped that run."""
        for tid in tuple(self._threads.by_tid):
            waiting = self._wanted.get(tid)
            if waiting is not None:
                waiting.update(sampling)
            elif state(tid) == "R":
                self._wanted[tid] = set(sampling)
                self._interrupt(tid)

    def sampled(self, task: Task) -> None:
        """The thread stands still, its registers are in the buffer."""
        environment = self._environment
        environment.task = task
        for number in sorted(self._wanted.pop(task.tid, ())):
            self._fire(number)

    def forget(self, tid: int) -> None:
        """The thread is gone, and gives no sample."""
        self._wanted.pop(tid, None)


def _firing(
    clocks: Sequence[Clock], environment: Environment, buffers: Buffers, ring: SampleRing | None
) -> Callable[[int], None]:
    """What is called with the index of a clock that is due."""
    if not clocks:
        return lambda number: None
    from sonde.engines.embedded.sources.clock_events import ClockEvents  # an import that most runs do without

    return ClockEvents(clocks, environment, buffers, ring).overflow
