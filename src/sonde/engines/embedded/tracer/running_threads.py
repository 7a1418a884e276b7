"""Which threads run, by /proc: asked with the fewest system calls, as it is asked often."""

from __future__ import annotations

import os

from sonde.typed import NamedTuple

_LONGEST = 256
_MOST_FILES = 256
"""Descriptors that are kept; a file of others is opened each time."""

_RUNS = b"R"


class Turn(NamedTuple):
    """ns that a thread has had a CPU, and how often it has got one (/proc/TID/schedstat); 0 where that is not counted,
    or the thread is gone."""

    used: int
    number: int


class RunningThreads:
    """Knows what the kernel has counted for threads when they were last found waiting."""

    def __init__(self) -> None:
        self._files: dict[int, int] = {}
        self._waiting: dict[int, bytes] = {}

    def turn_if_running(self, tid: int) -> Turn | None:
        """None of a thread that waits. One that has waited, and has got no CPU since, waits: what the kernel counts of
        its turns says so for less than its state."""
        try:
            counted = self._read(tid)
            if counted and counted == self._waiting.get(tid):
                return None
            with open(f"/proc/{tid}/stat", "rb", buffering=0) as file:
                state = file.read(_LONGEST).rpartition(b") ")[2][:1]
        except OSError:
            return None
        if state == _RUNS:
            return _turn(counted)
        self._waiting[tid] = counted
        return None

    def turn(self, tid: int) -> Turn:
        """Of a thread that stands."""
        try:
            return _turn(self._read(tid))
        except OSError:
            return Turn(0, 0)

    def _read(self, tid: int) -> bytes:
        """The text of the file; b"" where nothing is counted. Raises OSError."""
        descriptor = self._files.get(tid)
        if descriptor is not None:
            try:
                return os.pread(descriptor, _LONGEST, 0)
            except OSError:
                # Another thread may have the number by now.
                os.close(self._files.pop(tid))
        try:
            descriptor = os.open(f"/proc/{tid}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return b""
        try:
            counted = os.pread(descriptor, _LONGEST, 0)
        finally:
            if len(self._files) < _MOST_FILES:
                self._files[tid] = descriptor
            else:
                os.close(descriptor)
        return b"" if counted.startswith(b"0 0 ") else counted

    def forget(self, tid: int) -> None:
        """The thread is gone."""
        self._waiting.pop(tid, None)
        descriptor = self._files.pop(tid, None)
        if descriptor is not None:
            os.close(descriptor)


def _turn(counted: bytes) -> Turn:
    words = counted.split()
    return Turn(int(words[0]), int(words[2])) if len(words) > 2 else Turn(0, 0)
