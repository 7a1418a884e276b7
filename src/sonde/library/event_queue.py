"""Events on their way from a run's thread to whoever iterates.

No lock is held in Python code here. The main thread may be in a signal handler at any place of it, and ask the run's
thread for something there, which then must not wait for what the interrupted code holds.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from queue import Empty, SimpleQueue

from sonde.library.events import Event, TableBatch
from sonde.library.waking import Waking
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
    for room: what comes last is kept, however much. `waking` wakes tasks of asyncio."""

    def __init__(self, stop: EventTurns, waking: Waking, most: int = _MOST) -> None:
        """`most` events wait at most, or one list."""
        self._stop = stop
        self._waking = waking
        self._most = most
        self._lists: SimpleQueue[list[Event] | None] = SimpleQueue()
        self._taken: SimpleQueue[int] = SimpleQueue()
        self._returned: deque[list[Event]] = deque()
        self._count = 0
        self._is_unwanted = False
        self._is_closed = False

    def put(self, events: list[Event]) -> None:
        """Waits while there is no room."""
        self._count_taken()
        while self._count >= self._most and not self._is_unwanted and not self._stop.asked:
            self._stop.turn()
            self._count_taken(_TURN)
        if not self._is_unwanted:
            self._count += _weight(events)
            self._lists.put(events)
            self._waking.wake()

    def _count_taken(self, patience: float = 0.0) -> None:
        """Know of the room that there is; wait for some as long as that."""
        while patience or not self._taken.empty():
            try:
                self._count -= self._taken.get(timeout=patience)
            except Empty:
                return
            patience = 0.0

    def close(self) -> None:
        """Nothing more comes."""
        self._is_closed = True
        self._lists.put(None)
        self._waking.wake()

    def abandon(self) -> None:
        """Nobody wants what is there, nor what comes."""
        self._is_unwanted = True
        self._returned.clear()
        self._taken.put(0)

    @property
    def is_abandoned(self) -> bool:
        return self._is_unwanted

    def give_back(self, events: list[Event]) -> None:
        """The rest of a list that `get` has given: what comes next."""
        if not self._is_unwanted:
            self._returned.append(events)

    def get(self, can_wait: bool = True) -> list[Event] | None:
        """The next list, when it has come; None behind the last. Raises Empty where that is not at once, and nobody
        `can_wait`."""
        while True:
            with suppress(IndexError):
                return self._returned.popleft()
            found = self._lists.get(can_wait)
            if found is None:
                # For whoever waits besides, or asks again.
                self._lists.put(None)
                return None
            self._taken.put(_weight(found))
            if not self._is_unwanted:
                return found

    async def get_in_task(self) -> list[Event] | None:
        """The same in asyncio. Of a task that is cancelled nothing is lost, as it has taken nothing."""
        # Other tasks have their turn between two lists, however fast they come.
        await self._waking.others()
        while True:
            await self._waking.until(self._has_something)
            with suppress(Empty):
                return self.get(can_wait=False)

    def _has_something(self) -> bool:
        return bool(self._is_closed or self._returned or not self._lists.empty())


def _weight(events: list[Event]) -> int:
    """How many events a list is worth: rows of tables are some."""
    first = events[0] if events else None
    return first.table.num_rows if isinstance(first, TableBatch) else len(events)
