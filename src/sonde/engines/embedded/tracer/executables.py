"""Which program files the traced threads have executed, so that each is looked at once."""

from __future__ import annotations

import os

from sonde import others

_MOST = 1 << 12
"""Files that are remembered: a process may make and execute new ones without end."""


class Executables:
    """Files by device and inode."""

    def __init__(self) -> None:
        self._seen: set[tuple[int, int]] = set()

    def new(self, tid: int) -> os.stat_result | None:
        """The file that the thread executes; None if it is one of those that were asked for before. Raises OSError."""
        found = others.executable(tid)
        if (found.st_dev, found.st_ino) in self._seen:
            return None
        if len(self._seen) >= _MOST:
            self._seen.clear()
        self._seen.add((found.st_dev, found.st_ino))
        return found
