"""Processes as /proc tells of them."""

import os
from pathlib import Path

from sonde.machine import proc

_USER, _SYSTEM = 11, 12
"""Words of /proc/PID/stat after the name (proc_pid_stat(5))."""


def seconds_of(pid):
    """The time that its threads have had on CPUs, in seconds."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[_USER]) + int(words[_SYSTEM])) / os.sysconf("SC_CLK_TCK")


def children(pid):
    """The processes that any of its threads has made and that still run; [] where the kernel does not tell."""
    found = []
    for tid in proc.threads(pid):
        try:
            found += map(int, Path(f"/proc/{pid}/task/{tid}/children").read_text().split())
        except FileNotFoundError:
            continue
    return found
