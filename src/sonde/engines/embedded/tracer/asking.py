"""How long the guardian looks for threads that run, to ask them to stop: at most a share of the time.

One look at all threads of a large process takes longer than the period of a clock. So it is divided: each part ends
after a bounded time, the next one begins where it ended, and between two parts there is time for the threads that have
stopped. What is asked in that time is left out: what a thread has used fires at its next sample, or is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from sonde.machine.system import monotonic_ns
from sonde.model.units import MILLISECOND

SHARE = 4
"""Looks take at most one part of the time in so many."""

LONGEST = MILLISECOND
"""ns after which no other thread is looked at."""


class AskingTurns:
    """Which threads are looked at, and when. `clock`: ns."""

    def __init__(self, clock: Callable[[], int] = monotonic_ns) -> None:
        self._clock = clock
        self._earliest = 0
        self._left: list[int] = []

    def take(self, tids: Iterable[int]) -> Iterator[int]:
        """The threads that are to be looked at now, each to be done with before the next one is taken: those that the
        last look has not come to, or else all `tids`."""
        begin = self._clock()
        if begin < self._earliest:
            return
        if not self._left:
            self._left = [*tids]
        now = begin
        while self._left and now - begin < LONGEST:
            yield self._left.pop()
            now = self._clock()
        self._earliest = now + (SHARE - 1) * (now - begin)
