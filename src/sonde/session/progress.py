"""How far detaching is, shown on a terminal: it may take longer than all else."""

from __future__ import annotations

import os

_ERRORS = 2


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
