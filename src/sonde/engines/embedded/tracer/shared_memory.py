"""Whether two processes have one memory: kcmp(2)."""

from __future__ import annotations

import ctypes
from functools import cache

from sonde.arch import system_calls
from sonde.engines.embedded.tracer import ptrace

_MEMORIES = 1
"""KCMP_VM of kcmp(2)."""


@cache
def _libc() -> ctypes.CDLL:
    """Loaded once: each refers to itself, and the guardian looks for no garbage."""
    return ctypes.CDLL(None)


def is_shared(tid: int, made: int, event: int) -> bool:
    """Whether what the stopped thread has just made, as `event` tells, has its memory and not a copy."""
    found: int = _libc().syscall(system_calls.KCMP, tid, made, _MEMORIES, 0, 0)
    # Not each kernel compares (CONFIG_KCMP).
    return found == 0 if found >= 0 else event == ptrace.EVENT_VFORK
