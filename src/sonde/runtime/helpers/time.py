"""Clocks (kernel/bpf/helpers.c). The time of a firing is when it happened, not when its program comes to run.

But for the boot clock: it goes on while a program runs, so that programs can limit how long they do.
"""

from __future__ import annotations

from collections.abc import Callable
from time import CLOCK_BOOTTIME, CLOCK_TAI, clock_getres, clock_gettime_ns

from sonde.machine.system import monotonic_ns
from sonde.model.units import SECOND
from sonde.runtime.environment import Environment

_CLOCK_MONOTONIC_COARSE = 6
"""include/uapi/linux/time.h"""

_END_OF_TIME = (1 << 63) - 1
"""What a clock shows whose program is to end."""


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    def ktime_get_ns() -> int:
        return environment.now or monotonic_ns()

    def other(clock: int) -> Callable[[], int]:
        def read() -> int:
            now = environment.now
            time = clock_gettime_ns(clock)
            return time if not now else time - monotonic_ns() + now

        return read

    def ktime_get_boot_ns() -> int:
        return _END_OF_TIME if environment.is_ending() else clock_gettime_ns(CLOCK_BOOTTIME)

    tick = round(clock_getres(_CLOCK_MONOTONIC_COARSE) * SECOND)
    first = -300 * SECOND // tick & 0xFFFF_FFFF

    def ktime_get_coarse_ns() -> int:
        now = ktime_get_ns()
        return now - now % tick

    def jiffies64() -> int:
        """Ticks since boot, and INITIAL_JIFFIES (include/linux/jiffies.h)."""
        return first + ktime_get_ns() // tick

    return {
        "ktime_get_ns": ktime_get_ns,
        "ktime_get_boot_ns": ktime_get_boot_ns,
        "ktime_get_coarse_ns": ktime_get_coarse_ns,
        "ktime_get_tai_ns": other(CLOCK_TAI),
        "jiffies64": jiffies64,
    }
