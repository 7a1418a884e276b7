"""A gate between threads that signal handlers may come across."""

from __future__ import annotations

import threading


class Gate:
    """Opened once, for all who wait.

    In place of `threading.Event`, whose waits hold a lock for a moment: a signal handler may begin in that moment, and
    wait itself for the thread that is about to open the gate, and then waits for the lock.
    """

    def __init__(self) -> None:
        self._is_open = False
        self._shut = threading.Lock()
        self._shut.acquire()

    def open(self) -> None:
        """Of one thread: opening it twice is harmless."""
        if not self._is_open:
            self._is_open = True
            self._shut.release()

    def is_open(self) -> bool:
        """Whether nobody waits any more."""
        return self._is_open

    def wait(self) -> None:
        """Until it is open."""
        if not self._is_open:
            self._shut.acquire()
            self._shut.release()
