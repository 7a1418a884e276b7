"""Short slices of CPU time, for processes that only answer others, so that these wait less where the CPUs are busy.

A thread that stops is waited for, and waits itself, some ten times for each process it makes. On a busy machine each of
these turns waits for a CPU. From Linux 6.12 on who asks for a short slice has an earlier deadline, and takes the CPU
from others as soon as it wakes up (PREEMPT_SHORT, kernel/sched/features.h); it gets no more time for that. Everybody
may ask.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable
from functools import lru_cache

from sonde.arch import system_calls

_ATTRIBUTES = struct.Struct("=IIQiI3Q")
"""struct sched_attr (include/uapi/linux/sched/types.h): size, policy, flags, nice, priority, runtime, deadline,
period; runtime is the slice of SCHED_OTHER."""

_RESET_ON_FORK = 1
SHORTEST = 100_000
"""ns: less is not to be had (kernel/sched/syscalls.c)."""


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def take_short(resets: bool = False) -> None:
    """For this thread, and, unless `resets`, what it forks. Nothing where the kernel does not know of it, and for
    threads that others than SCHED_OTHER schedule."""
    if os.sched_getscheduler(0) == os.SCHED_OTHER:
        prepared(_RESET_ON_FORK if resets else 0)()


def prepared(flags: int = 0) -> Callable[[], int]:
    """What makes this thread SCHED_OTHER with the nice value it has now and a short slice, in one system call:
    -1 if that is not allowed."""
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    wanted = _ATTRIBUTES.pack(_ATTRIBUTES.size, os.SCHED_OTHER, flags, nice, 0, SHORTEST, 0, 0)
    syscall = _libc().syscall
    return lambda: int(syscall(system_calls.SCHED_SETATTR, 0, wanted, 0))
