"""Tasks of asyncio that wait for a run's thread, without a thread of their own."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import Future


class Waking:
    """Whoever waits is woken by each `wake()`, from any thread, and looks again."""

    def __init__(self) -> None:
        self._wakers: deque[Callable[[], object]] = deque()

    def wake(self) -> None:
        """To be called when there may be something that is waited for."""
        while True:
            try:
                waker = self._wakers.popleft()
            except IndexError:
                return
            # A loop that is closed has no tasks.
            with suppress(RuntimeError):
                waker()

    async def until(self, is_there: Callable[[], bool]) -> None:
        """Wait until it is there. A task that is cancelled meanwhile has changed nothing."""
        # Few programs use asyncio, and it takes long to import.

        loop = asyncio.get_running_loop()
        while not is_there():
            woken: Future[None] = loop.create_future()
            waker = partial(loop.call_soon_threadsafe, _set, woken)
            self._wakers.append(waker)
            try:
                # It may have come before there was a waker.
                if not is_there():
                    await woken
            finally:
                # The run's thread may take it at the same time.
                with suppress(ValueError, IndexError, RuntimeError):
                    self._wakers.remove(waker)

    async def others(self) -> None:
        """Let other tasks have their turn."""
        await asyncio.sleep(0)


def _set(woken: Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)
