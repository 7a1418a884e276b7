"""Processes that have one memory, by vfork(2) or CLONE_VM: kcmp(2) tells. Where that is refused, as container profiles
do, or not there (CONFIG_KCMP), what vfork has made is known by its parent, which waits for it."""

from __future__ import annotations

import ctypes
import os
from functools import cache

from sonde.arch import system_calls
from sonde.engines.embedded.tracer import ptrace
from sonde.machine import proc
from sonde.untrusted import read_kernel

_MEMORIES = 1
"""KCMP_VM of kcmp(2)."""

_WAITS, _HAVE_NONE = "D", "ZX"
"""States of threads (proc(5)): of who waits for what vfork has made, and of those without a memory."""


@cache
def _libc() -> ctypes.CDLL:
    """Loaded once: each refers to itself, and the guardian looks for no garbage."""
    return ctypes.CDLL(None)


def _compared(tid: int, other: int) -> int:
    """0 for one memory, 1 to 3 for two, -1 where the kernel does not tell."""
    found: int = _libc().syscall(system_calls.KCMP, tid, other, _MEMORIES, 0, 0)
    return found


def is_shared(tid: int, made: int, event: int) -> bool:
    """Whether what the stopped thread has just made, as `event` tells, has its memory and not a copy."""
    found = _compared(tid, made)
    return found == 0 if found >= 0 else event == ptrace.EVENT_VFORK


def have_one(tid: int, other: int) -> bool:
    """Whether two threads of different processes have one memory. `tid` has one, and of a vfork it is the parent."""
    found = _compared(tid, other)
    if found >= 0 or _compared(os.getpid(), os.getpid()) == 0:
        return found == 0
    try:
        pid = int(proc.status(tid)["Tgid"])
        return proc.stat(other).ppid == pid and _is_in_vfork(pid) and _mappings(other) == _mappings(tid)
    except OSError:
        return False  # it has ended, or is nobody's whom the user may trace


def _is_in_vfork(pid: int) -> bool:
    return any(proc.stat(tid).state == _WAITS for tid in proc.threads(pid))


def _mappings(tid: int) -> bytes:
    return read_kernel(f"/proc/{tid}/maps")


def owners(pid: int) -> list[int]:
    """The other processes that have the memory of this one, as far as the user may look at them."""
    try:
        tid = next((tid for tid in proc.threads(pid) if proc.stat(tid).state not in _HAVE_NONE), 0)
    except OSError:
        return []
    return [each for each in proc.processes() if tid and each != pid and _is_owner(tid, each)]


def _is_owner(tid: int, pid: int) -> bool:
    """Whether any thread of the process has that memory: the first may have ended before the others."""
    try:
        return have_one(tid, pid) or any(have_one(tid, each) for each in proc.threads(pid)[1:])
    except OSError:
        return False  # it has ended
