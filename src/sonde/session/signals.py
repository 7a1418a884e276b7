"""Signals to the tracer while something is traced: SIGINT and SIGTERM, and those that are probes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from contextlib import suppress

_MOST_READ = 4096
"""Bytes, each of a signal that has come."""


class Signals:
    """SIGINT and SIGTERM while tracing: the first asks for the end, the second ends at once. The names of others, of
    those in `names`, are put into `come` when they arrive."""

    def __init__(self, names: Iterable[str] = (), come: list[str] | None = None) -> None:
        self.asked = False
        self._come: list[str] = [] if come is None else come
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        # What is ignored, as a shell has it for a command in the background, stays so.
        wanted = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._handle) for number in wanted}
        for number in (signal.Signals[name] for name in names):
            self._before[number] = signal.signal(number, self._note)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)

    @property
    def descriptor(self) -> int:
        """Readable once a signal has come."""
        return self._reader

    until = float("inf")

    def turn(self) -> None:
        """What else has come is known: the descriptor tells of the next. A signal's byte is written when its handler is
        due, so that none is read before `asked` is known."""
        if not self.asked:
            with suppress(BlockingIOError):
                os.read(self._reader, _MOST_READ)

    def _note(self, number: int, _frame: object) -> None:
        self._come.append(signal.Signals(number).name)

    def _handle(self, number: int, _frame: object) -> None:
        if self.asked:
            os._exit(128 + number)
        self.asked = True

    def close(self) -> None:
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._reader)
        os.close(self._writer)
