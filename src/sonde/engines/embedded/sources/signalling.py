"""Signals that programs send to the thread that fires them."""

from __future__ import annotations

import ctypes
import os
from functools import cache

from sonde.arch import system_calls
from sonde.runtime import environment


@cache
def _libc() -> ctypes.CDLL:
    """Loaded once: each refers to itself, and is garbage that only the collector finds."""
    return ctypes.CDLL(None, use_errno=True)


def send_signal(task: environment.Task, number: int, thread: bool) -> int:
    """0 or -errno. The thread stands still: it finds the signal when it goes on."""
    if not thread:
        try:
            os.kill(task.pid, number)
        except OSError as error:
            return -(error.errno or 1)
        return 0
    return -ctypes.get_errno() if _libc().syscall(system_calls.TGKILL, task.pid, task.tid, number) else 0
