"""SIGINT and SIGTERM while something is traced."""

from __future__ import annotations

import os
import signal


class Signals:
    """SIGINT and SIGTERM while tracing: the first asks for the end, the second ends at once."""

    def __init__(self) -> None:
        self.asked = False
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        # What is ignored, as a shell has it for a command in the background, stays so.
        wanted = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._handle) for number in wanted}
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)

    @property
    def descriptor(self) -> int:
        """Readable once a signal has come."""
        return self._reader

    until = float("inf")

    def turn(self) -> None:
        """A signal says all there is to say."""

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
