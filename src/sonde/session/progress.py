"""How far a replay or detaching is, shown on a terminal: either may take long, and say nothing meanwhile."""

from __future__ import annotations

import os
import time

from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.base import FiringFeed

_ERRORS = 2
_FIRST, _OFTEN = 1.0, 0.2
"""Seconds until a replay is said to take long, and between two looks at it."""

_ERASE = "\r\x1b[K"


class DetachingProgress:
    """Writes one line over itself. Nothing where the standard error is no terminal."""

    def __init__(self) -> None:
        self._is_terminal = os.isatty(_ERRORS)

    def __call__(self, done: int, total: int) -> None:
        if not self._is_terminal:
            return
        text = f"\rsonde: {done} of {total} probes are detached; ^C leaves the rest to the background"
        self._write(text + ("\n" if done >= total else ""))

    def _write(self, text: str) -> None:
        try:
            os.write(_ERRORS, text.encode())
        except OSError:
            self._is_terminal = False  # nobody looks any more


class ReplayProgress:
    """Keeps one line, which `erase` takes away, on the standard error where that is a terminal."""

    def __init__(self) -> None:
        self._is_terminal = os.isatty(_ERRORS)
        self._due = time.monotonic() + _FIRST
        self._is_shown = False
        self._has_line = True
        """Whether the cursor is at the start of a line, but for what is shown."""

    def show(self, firings: FiringFeed) -> None:
        """Say how much of the file was replayed, from time to time."""
        if not (self._is_terminal and self._has_line) or (now := time.monotonic()) < self._due:
            return
        self._due = now + _OFTEN
        done, total = firings.progress
        if not total:
            return
        self._is_shown = True
        self._write(f"{_ERASE}sonde: {100 * done // total} % of the recording is replayed")

    def make_room(self, ends_line: bool) -> None:
        """Other output comes; nothing is shown behind a line of it that goes on."""
        self.erase()
        self._has_line = ends_line

    def erase(self) -> None:
        if self._is_shown:
            self._is_shown = False
            self._write(_ERASE)

    def _write(self, text: str) -> None:
        try:
            os.write(_ERRORS, text.encode())
        except OSError:
            self._is_terminal = False  # nobody looks any more
