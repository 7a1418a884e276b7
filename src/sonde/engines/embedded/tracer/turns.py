"""Turns on one CPU: where a thread ran last, and whether somebody else takes the turns that it leaves to the guardian.

Read while a thread waits, so with the fewest system calls.
"""

from __future__ import annotations

import os

from sonde.typed import NamedTuple

_PROCESSOR = 36
"""The field of /proc/PID/stat with the CPU the thread ran on last, counted from the one behind the name."""

_UNFAIR = 2_000_000
"""ns that the guardian may have waited for the CPU while the thread beside it did not run: no switch takes as long."""


class Turns(NamedTuple):
    """ns until now that the guardian waited for a CPU, ready to run, and that a thread ran (/proc/PID/schedstat)."""

    tid: int
    waited: int
    ran: int

    def are_fair(self, later: Turns) -> bool:
        """Whether the guardian waited for nobody but that thread in between."""
        return later.tid == self.tid and later.waited - self.waited - (later.ran - self.ran) < _UNFAIR


def taken(tid: int) -> Turns:
    """With this thread. Raises OSError if it is gone or the kernel does not tell."""
    own, others = _read(b"/proc/self/schedstat"), _read(b"/proc/%d/schedstat" % tid)
    return Turns(tid, int(own.split()[1]), int(others.split()[0]))


def processor(tid: int) -> int:
    """The CPU that a thread ran on last. Raises OSError if it is gone."""
    return int(_fields(tid)[_PROCESSOR])


def is_ready(tid: int, cpu: int) -> bool:
    """Whether a thread is ready to run on that CPU."""
    try:
        found = _fields(tid)
    except OSError:
        return False
    return found[0] == b"R" and int(found[_PROCESSOR]) == cpu


def _fields(tid: int) -> list[bytes]:
    """Of /proc/PID/stat, from the one behind the name on."""
    return _read(b"/proc/%d/stat" % tid).rpartition(b")")[2].split(None, _PROCESSOR + 1)


def _read(path: bytes) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 1024)
    finally:
        os.close(descriptor)
