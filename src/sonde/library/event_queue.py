"""Events on their way from a run's thread to whoever iterates."""

from __future__ import annotations

import threading
from collections import deque

from sonde.library.events import Event
from sonde.typed import Protocol

_MOST = 1 << 18
"""Events that wait; behind them the rings fill, and what finds no room there is told as a loss."""

_TURN = 0.05
"""Seconds between two looks for something else to do, while there is no room."""


class EventTurns(Protocol):
    """What whoever puts events does while there is no room, and whether it is asked to end."""

    @property
    def asked(self) -> bool: ...

    def turn(self) -> None: ...


class Nobody:
    """Nothing else to do, and nobody who asks."""

    asked = False

    def turn(self) -> None:
        """Nothing."""


class EventQueue:
    """Lists of events, in order. While there is no room, `stop` has its turns; that the end is asked for ends the wait
    for room: what comes last is kept, however much."""

    def __init__(self, stop: EventTurns, most: int = _MOST) -> None:
        """`most` events wait at most, or one list."""
        self._stop = stop
        self._most = most
        self._lists: deque[list[Event]] = deque()
        self._count = 0
        self._is_closed = False
        self._is_unwanted = False
        self._changed = threading.Condition()

    def put(self, events: list[Event]) -> None:
        """Waits while there is no room."""
        while True:
            with self._changed:
                if self._is_unwanted:
                    return
                if self._count < self._most or self._stop.asked:
                    self._lists.append(events)
                    self._count += len(events)
                    self._changed.notify_all()
                    return
                self._changed.wait(_TURN)
            self._stop.turn()

    def close(self) -> None:
        """Nothing more comes."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def abandon(self) -> None:
        """Nobody wants what is there, nor what comes."""
        with self._changed:
            self._is_unwanted = True
            self._lists.clear()
            self._count = 0
            self._changed.notify_all()

    @property
    def is_abandoned(self) -> bool:
        return self._is_unwanted

    def get(self) -> list[Event] | None:
        """The next list, when it has come; None behind the last."""
        with self._changed:
            while not self._lists and not self._is_closed:
                self._changed.wait()
            return self._next()

    def get_at_once(self) -> list[Event] | None:
        """The next list if there is one, else None."""
        with self._changed:
            return self._next()

    def _next(self) -> list[Event] | None:
        if not self._lists:
            return None
        found = self._lists.popleft()
        self._count -= len(found)
        self._changed.notify_all()
        return found
