"""What programs want done to the thread whose stop is being handled, before it goes on: inject(), delay().

Of several results the last one counts; delays add up. A thread that waits is held as by its record, while others go on.
"""

from __future__ import annotations

from errno import EBUSY

from sonde.engines.embedded.tracer.tracees import Tracees
from sonde.machine.system import monotonic_ns
from sonde.model.units import SECOND
from sonde.runtime.environment import Task

_LONGEST = 3600 * SECOND
"""ns that a thread is made to wait at most for one record."""


class Interventions:
    """`next`: when a thread that waits may go on, in ns of CLOCK_MONOTONIC; 0 if there is none."""

    def __init__(self, tracees: Tracees | None) -> None:
        self._tracees = tracees
        self._held = 0
        self._result: int | None = None
        self._delay = 0
        self._waiting: list[tuple[int, int, int]] = []
        """When each may go on, the number of the record that it is held by, its own; sorted."""
        self.next = 0

    def begin(self, tid: int) -> None:
        """The record of a stop is going to be handled, by which the thread is held."""
        self._held = tid

    def intervene(self, task: Task, result: int | None, delay: int) -> int:
        """For the helpers: 0, or -EBUSY for a thread that is not held."""
        if task.tid != self._held:
            return -EBUSY
        if result is not None:
            self._result = result
        self._delay = min(self._delay + delay, _LONGEST)
        return 0

    def release(self, number: int, tid: int) -> None:
        """The record of that number has been handled, by which the thread is held."""
        assert self._tracees is not None
        self._held = 0
        if self._result is not None:
            self._tracees.inject(number, tid, self._result)
            self._result = None
        if not self._delay:
            self._tracees.resume(number, tid)
            return
        self._waiting.append((monotonic_ns() + self._delay, number, tid))
        self._waiting.sort()
        self._delay = 0
        self.next = self._waiting[0][0]

    def advance(self, now: int) -> None:
        """Let those go on who have waited long enough."""
        assert self._tracees is not None
        while self._waiting and self._waiting[0][0] <= now:
            _, number, tid = self._waiting.pop(0)
            self._tracees.resume(number, tid)
        self.next = self._waiting[0][0] if self._waiting else 0
