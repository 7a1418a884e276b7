"""Actions that wait to be carried out when tracing has ended.

A program may ask for more commands or tables than can be run or shown, as `sched:::on-cpu { system("..."); }` does:
some milliseconds each, with thousands of records in the rings. While tracing goes on they are carried out one by one,
and rings overflow, which is counted. But the end must come soon after it was asked for. So of the commands that wait by
then only the first are run, none where the user asked for the end; a table is shown once, unless it was changed in
between, as nothing is counted any more; and the others are counted.
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
        """Whether the user, or the program around, has asked for it: nothing is recorded any more then."""

    def has_come(self) -> bool:
        """Whether programs are over for another reason."""


class WaitingActions:
    """Counts those that were not carried out."""

    def __init__(self, end: EndOfTracing) -> None:
        self._end: EndOfTracing | None = end
        self._over: float | None = None
        self._run = self._commands = self._tables = 0
        self._shown: set[object] = set()

    def may_run(self) -> bool:
        """Whether the next command is to be run; it is counted if not."""
        if self._end is None or self._is_next(self._end):
            return True
        self._commands += 1
        return False

    def may_show(self, action: object) -> bool:
        """Whether a table is to be shown, which an action has said how; it is counted if not."""
        if self._end is None or not (self._end.was_asked_for() or self._end.has_come()):
            return True
        if action in self._shown:
            self._tables += 1
            return False
        self._shown.add(action)
        return True

    def tables_change(self) -> None:
        """Something is cleared or normalized: tables are others from here on."""
        self._shown.clear()

    def _is_next(self, end: EndOfTracing) -> bool:
        if end.was_asked_for():
            return False
        if self._over is None:
            if not end.has_come():
                return True
            self._over = time.monotonic()
        self._run += 1
        return self._run <= _FIRST or time.monotonic() < self._over + _MORE

    def all_are_taken(self) -> None:
        """What comes from here on is of END, and carried out."""
        self._end = None

    def take_dropped(self) -> list[tuple[str, int]]:
        """What was not carried out since this was asked last, and how often."""
        found = [("commands", self._commands), ("tables", self._tables)]
        self._commands = self._tables = 0
        return [(kind, count) for kind, count in found if count]
