"""CLOCK_MONOTONIC as the kernel has it: times that it records are of no time namespace (time_namespaces(7)), while
clock_gettime(2) tells that of the namespace that this process is in."""

from __future__ import annotations

import time
from contextlib import suppress

from sonde.model.units import SECOND
from sonde.untrusted import kernel_lines

_OFFSETS = "/proc/self/timens_offsets"


def namespace_offset(path: str = _OFFSETS) -> int:
    """What the clock of this process's time namespace is ahead of the kernel's, ns; 0 where there are none."""
    with suppress(OSError, ValueError, IndexError):
        for line in kernel_lines(path):
            clock, seconds, rest = line.split()[:3]
            if clock in ("monotonic", "1"):
                return int(seconds) * SECOND + int(rest)
    return 0


_AHEAD = namespace_offset()


def _kernel_time() -> int:
    return time.monotonic_ns() - _AHEAD


monotonic_ns = _kernel_time if _AHEAD else time.monotonic_ns
"""The kernel's CLOCK_MONOTONIC in ns."""


def realtime_offset() -> int:
    """Wall clock minus the kernel's CLOCK_MONOTONIC, in ns, as good as two clock readings in a row allow."""
    before = monotonic_ns()
    now = time.time_ns()
    after = monotonic_ns()
    return now - (before + after) // 2
