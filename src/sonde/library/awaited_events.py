"""The events of a run for `async for`."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable

from sonde.library.events import Event
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self


class AwaitedEvents:
    """An async iterator; one for all tasks that iterate over a run, so that no event is left behind by one that does
    not go on, or is cancelled."""

    def __init__(self, next_list: Callable[[], Awaitable[list[Event] | None]]) -> None:
        """`next_list` has taken nothing if it is cancelled."""
        self._next_list = next_list
        self._waiting: deque[Event] = deque()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while not self._waiting:
            found = await self._next_list()
            if found is None:
                raise StopAsyncIteration
            self._waiting.extend(found)
        return self._waiting.popleft()
