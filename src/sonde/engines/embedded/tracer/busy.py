"""Processes that use the CPUs as this one begins, which samples of the whole system will be of (proc(5))."""

from __future__ import annotations

import math
import os
import time

from sonde.machine import proc
from sonde.untrusted import read_kernel

_SHARE = 0.1
"""Of a CPU, since the process began: who has used as much is busy, if it waits just now, too."""


def busy_processes(root: str = "/proc") -> list[int]:
    """Their numbers, those that use most first; none where nothing runs but the caller."""
    if _running(root) <= 1:
        return []
    ticks, now = os.sysconf("SC_CLK_TCK"), time.clock_gettime(time.CLOCK_BOOTTIME)
    found = []
    for name in filter(str.isdigit, os.listdir(root)):
        try:
            stat = proc.stat(int(name), root)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(name) == os.getpid() or proc.is_kernel_thread(stat):
            continue
        share = (stat.user + stat.system) / max(ticks * now - stat.start, 1)
        if stat.state == "R" or share >= _SHARE:
            found.append((share, int(name)))
    return [pid for _, pid in sorted(found, reverse=True)]


def _running(root: str) -> float:
    """Threads that run or wait for a CPU, the caller's among them; any number where /proc tells of processes alone
    (subset=pid)."""
    try:
        return int(read_kernel(f"{root}/loadavg").split()[3].partition(b"/")[0])
    except FileNotFoundError:
        return math.inf
