"""A bound on the CPU time of what a test file asks for: regular expressions can take longer than the universe."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 10.0


class TooSlowError(Exception):
    """It has taken more CPU time than it may."""


@contextmanager
def bounded(seconds: float = SECONDS) -> Iterator[None]:
    """Raises TooSlowError in the block after so many seconds of CPU time. In other threads than the main one, where no
    signal arrives, there is no bound."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def too_slow(number: int, frame: object) -> None:
        raise TooSlowError(f"it takes more than {seconds:g} s of CPU time")

    # SIGALRM is what runners of tests have limits by.
    before = signal.signal(signal.SIGVTALRM, too_slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before if before is not None else signal.SIG_DFL)
