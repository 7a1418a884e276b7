"""Control groups of processes: cgroups(7), of version 2 alone."""

from __future__ import annotations

import os

from sonde.machine.mounts import parse
from sonde.untrusted import lines, read_kernel

_MOUNTS = "/proc/self/mountinfo"
_KIND = b"cgroup2"


def number_of(tid: int) -> int:
    """The number of a thread's control group, as the kernel has it: the inode of its directory, which is 1 for the root
    where the hierarchy is not mounted. 0 where it cannot be told: the thread is gone, or its group is not below what
    is mounted here."""
    try:
        path = _path(read_kernel(f"/proc/{tid}/cgroup"))
        mounts = [each for each in parse(read_kernel(_MOUNTS)).values() if each.filesystem == _KIND]
        if path is None or not mounts:
            return 1 if path == b"/" else 0
        return os.stat(mounts[0].point + path).st_ino
    except OSError:
        return 0


def _path(text: bytes) -> bytes | None:
    """Of the hierarchy of version 2, whose number is 0 and which names no controllers."""
    return next((line[3:] for line in lines(text) if line.startswith(b"0::")), None)
