"""Commands that wait to be run when tracing has ended.

A program may ask for more commands than can be run, as `sched:::on-cpu { system("..."); }` does: some milliseconds
each, with thousands of records in the rings. While tracing goes on they are run one by one, and rings overflow, which
is counted. But the end must come soon after it was asked for; so of what waits by then only the first are run, none
where the user asked for it, and the others are counted.
"""

from __future__ import annotations

import time

from sonde.typed import Protocol

_FIRST = 32
"""Commands that are run behind a program's own end, however long they take: those of a few clauses that end with
exit()."""

_MORE = 0.5
"""Seconds behind that end in which more are run."""


class EndOfTracing(Protocol):
    """What the consumer asks about the end."""

    def was_asked_for(self) -> bool:
        """Whether the user, or the program around, has asked for it."""

    def has_come(self) -> bool:
        """Whether programs are over for another reason."""


class WaitingCommands:
    """`dropped` counts those that were not run since it was taken last."""

    def __init__(self, ending: EndOfTracing) -> None:
        self._ending: EndOfTracing | None = ending
        self._over: float | None = None
        self._run = self._dropped = 0

    def may_run(self) -> bool:
        """Whether the next command is to be run; it is counted if not."""
        if self._ending is None or self._is_next(self._ending):
            return True
        self._dropped += 1
        return False

    def _is_next(self, ending: EndOfTracing) -> bool:
        if ending.was_asked_for():
            return False
        if self._over is None:
            if not ending.has_come():
                return True
            self._over = time.monotonic()
        self._run += 1
        return self._run <= _FIRST or time.monotonic() < self._over + _MORE

    def all_are_taken(self) -> None:
        """What comes from here on is of END, and run."""
        self._ending = None

    def take_dropped(self) -> int:
        """How many were dropped."""
        dropped, self._dropped = self._dropped, 0
        return dropped
