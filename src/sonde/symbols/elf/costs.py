"""What reading one object may cost: any user may have made it, and root may look at it.

Time is that of this thread's CPU, so a busy machine changes nothing, and counts while the object is read, not between.
Whoever reads a lot asks `check` now and then, and says by `take` what is going to be kept of the object.
"""

from __future__ import annotations

import time

from sonde.symbols.elf.errors import CostError
from sonde.typed import Any

SECONDS = 2.0
BYTES = 256 << 20
SPEED = 4 << 20
"""Bytes of a file for which reading its debug information may take a second more."""


class Costs:
    """Those of an object and of the files that belong to it: `with costs:` is around what reads them."""

    __slots__ = ("_began", "_bytes", "_depth", "_seconds", "buffered", "reason", "taken")

    def __init__(self, seconds: float = SECONDS, size: int = BYTES) -> None:
        self._seconds = seconds
        self._bytes = size
        self._depth = 0
        self._began = 0.0
        self.taken = 0
        """Bytes of memory that are kept of it, about."""
        self.buffered = 0
        """Bytes of the files themselves that are kept since they may be asked for again."""
        self.reason = ""
        """Why the object was given up, "" if it was not."""

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self._began = time.thread_time()

    def __exit__(self, *_: Any) -> None:
        self._depth -= 1
        if not self._depth:
            self._seconds -= time.thread_time() - self._began

    def check(self) -> None:
        """Raises CostError where the time is over."""
        if self.reason:
            raise CostError(self.reason)
        if self._depth and time.thread_time() - self._began > self._seconds:
            self.refuse(f"reading it takes more than {SECONDS:.0f} seconds")

    def take(self, size: int) -> None:
        """So many more bytes are kept. Raises CostError where they are too many."""
        if self.reason:
            raise CostError(self.reason)
        if self.taken + size > self._bytes:
            self.refuse(f"reading it takes more than {BYTES >> 20} MiB")
        self.taken += size

    def give_back(self, size: int) -> None:
        """So many bytes are kept no longer."""
        self.taken -= size

    @property
    def left(self) -> float:
        """Seconds that reading may still take."""
        return self._seconds

    def limit(self, seconds: float) -> None:
        """No more time than this."""
        self._seconds = min(self._seconds, seconds)

    def allow(self, seconds: float) -> None:
        """What was answered until now was worth so much more time: objects are asked as long as a session lasts."""
        self._seconds += seconds

    def refuse(self, reason: str) -> None:
        """Raises CostError."""
        self.reason = self.reason or reason
        raise CostError(reason)
