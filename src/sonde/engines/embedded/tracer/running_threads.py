"""Which threads run, by /proc: asked with the fewest system calls, as it is asked often.

One look at all threads of a large process takes longer than the period of a clock. So it is divided: each part ends
after a bounded time, the next one begins where it ended, and between two parts there is time for the threads that have
stopped. What is asked in that time is left out: what a thread has used fires at its next sample, or is lost.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator

from sonde.machine.system import monotonic_ns
from sonde.model.units import MILLISECOND

_LONGEST = 256
_MOST_FILES = 256
"""Descriptors that are kept; a file of others is opened each time."""

_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)

_RUNS = b"R"

SHARE = 4
"""Looks take at most one part of the time in so many."""

LONGEST = MILLISECOND
"""ns after which no other thread is looked at."""


class RunningThreads:
    """Knows what the kernel has counted for threads when they were last found waiting."""

    def __init__(self) -> None:
        self._files: dict[int, int] = {}
        self._most = _MOST_FILES
        self._waiting: dict[int, bytes] = {}

    def runs(self, tid: int) -> bool:
        """Whether a thread has a CPU or waits for one. One that has waited for something else, and has got no CPU
        since, still does: what the kernel counts of its turns says so for less than its state. Raises OSError where
        it is there, and cannot be looked at."""
        try:
            counted = self._read(tid)
            if counted and counted == self._waiting.get(tid):
                return False
            descriptor = self._open(f"/proc/{tid}/stat")
            try:
                state = os.read(descriptor, _LONGEST).rpartition(b") ")[2][:1]
            finally:
                os.close(descriptor)
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state == _RUNS:
            return True
        self._waiting[tid] = counted
        return False

    def used(self, tid: int) -> int:
        """The CPU time that a thread which stands has used, in ns; 0 where that is not counted, or it is gone."""
        try:
            return int((self._read(tid) or b"0").split()[0])
        except OSError:
            return 0

    def _read(self, tid: int) -> bytes:
        """ns on CPUs, ns of waiting for one, how often it has got one (/proc/TID/schedstat); b"" where they are not
        counted. Raises OSError."""
        descriptor = self._files.get(tid)
        if descriptor is not None:
            try:
                return os.pread(descriptor, _LONGEST, 0)
            except OSError:
                # Another thread may have the number by now.
                os.close(self._files.pop(tid))
        try:
            descriptor = self._open(f"/proc/{tid}/schedstat")
        except FileNotFoundError:
            return b""
        try:
            counted = os.pread(descriptor, _LONGEST, 0)
        finally:
            if len(self._files) < self._most:
                self._files[tid] = descriptor
            else:
                os.close(descriptor)
        return b"" if counted.startswith(b"0 0 ") else counted

    def _open(self, path: str) -> int:
        """A descriptor. If there is none left fewer are kept from then on. Raises OSError."""
        while True:
            try:
                return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                if error.errno not in _NO_DESCRIPTOR or not self._files:
                    raise
            self._most = len(self._files) // 2
            while len(self._files) > self._most:
                os.close(self._files.popitem()[1])

    def forget(self, tid: int) -> None:
        """The thread is gone."""
        self._waiting.pop(tid, None)
        descriptor = self._files.pop(tid, None)
        if descriptor is not None:
            os.close(descriptor)


class AskingTurns:
    """Which threads are looked at, and when. `clock`: ns."""

    def __init__(self, clock: Callable[[], int] = monotonic_ns) -> None:
        self._clock = clock
        self._earliest = 0
        self._left: list[int] = []

    def take(self, tids: Iterable[int]) -> Iterator[int]:
        """The threads that are to be looked at now, each to be done with before the next one is taken: those that the
        last look has not come to, or else all `tids`."""
        begin = self._clock()
        if begin < self._earliest:
            return
        if not self._left:
            self._left = [*tids]
        now = begin
        while self._left and now - begin < LONGEST:
            yield self._left.pop()
            now = self._clock()
        self._earliest = now + (SHARE - 1) * (now - begin)
