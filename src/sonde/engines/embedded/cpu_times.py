"""CPU time of threads: what the scheduler has counted (/proc/TID/schedstat), which is exact of one that stands.

It is what a thread has run in its own code and in the kernel, the stops of tracing included, whose last part the thread
spends before it lets its CPU go.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable

from sonde.model.errors import EngineError
from sonde.runtime.environment import Task
from sonde.runtime.standing import require_standing
from sonde.untrusted import read_kernel

_LONGEST = 256


def _counted(tid: int) -> int:
    """ns. Raises OSError."""
    words = read_kernel(f"/proc/{tid}/schedstat", _LONGEST).split()
    if not words:
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    return int(words[0])


def used(tid: int) -> int:
    """What a thread has used so far in ns, 0 if it is gone."""
    try:
        return _counted(tid)
    except OSError:
        return 0


def require() -> None:
    """Raises EngineError where the kernel does not tell."""
    if not used(os.getpid()):
        raise EngineError(
            "vtimestamp needs the times in /proc/PID/schedstat, which this kernel does not count (CONFIG_SCHED_INFO); "
            "the kernel engine (root, or CAP_BPF and CAP_PERFMON) adds them up itself"
        )


def of_threads_besides(own: Task) -> Callable[[Task], int]:
    """What tells the CPU time of a thread since it is traced; `own` is that of sonde, which runs."""

    def since(task: Task) -> int:
        if task.tid == own.tid:
            return time.thread_time_ns() - task.cpu_before
        require_standing(task.tid)
        return _counted(task.tid) - task.cpu_before

    return since
