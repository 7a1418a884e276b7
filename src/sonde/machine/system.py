"""This machine: what programs are compiled for and what decides which of them it will run."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from sonde.model.target import Target
from sonde.model.units import SECOND
from sonde.untrusted import kernel_lines, kernel_text, read_kernel

INITIAL_PID_NAMESPACE = 0xEFFFFFFC
"""The inode of the first pid namespace (PROC_PID_INIT_INO, include/linux/proc_ns.h)."""

CAPABILITIES = {
    "ipc_lock": 14, "sys_ptrace": 19, "sys_admin": 21, "sys_resource": 24, "syslog": 34, "perfmon": 38, "bpf": 39,
}  # fmt: skip
"""Bits of the capabilities that matter to tracing (include/uapi/linux/capability.h)."""


def current_target(features: frozenset[str] = frozenset()) -> Target:
    """The running machine; `features` is what an engine found there."""
    system = os.uname()
    return Target(system.machine, system.release, features, pid_namespace() is None)


def portable_target() -> Target:
    """Any machine of this architecture."""
    return Target(os.uname().machine, os.uname().release, initial_namespace=False, portable=True)


def possible_cpus() -> int:
    """The number of CPUs there may ever be, which is how many values a per-CPU map keeps."""
    return parse_cpus(kernel_text("/sys/devices/system/cpu/possible"))[-1] + 1


def online_cpus() -> tuple[int, ...]:
    """The numbers of the CPUs that are running now."""
    return parse_cpus(kernel_text("/sys/devices/system/cpu/online"))


def chips() -> tuple[int, ...]:
    """The physical package of each possible CPU, 0 for those that are not there."""
    found = []
    for cpu in range(possible_cpus()):
        try:
            package = read_kernel(f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id")
            found.append(max(int(package), 0))
        except OSError:
            found.append(0)
    return tuple(found)


def parse_cpus(text: str) -> tuple[int, ...]:
    """CPU numbers of a list as the kernel writes it: "0-3,8"."""
    cpus: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        cpus.extend(range(int(first), int(last or first) + 1))
    return tuple(cpus)


def pid_namespace() -> tuple[int, int] | None:
    """(device, inode) of this process's pid namespace, None where it is the initial one or there is no telling."""
    try:
        status = os.stat("/proc/self/ns/pid")
    except OSError:
        return None
    return None if status.st_ino == INITIAL_PID_NAMESPACE else (status.st_dev, status.st_ino)


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
"""The kernel's CLOCK_MONOTONIC in ns: times that it records are of no time namespace (time_namespaces(7)), while
clock_gettime(2) tells that of the namespace that this process is in."""


def realtime_offset() -> int:
    """Wall clock minus the kernel's CLOCK_MONOTONIC, in ns, as good as two clock readings in a row allow."""
    before = monotonic_ns()
    now = time.time_ns()
    after = monotonic_ns()
    return now - (before + after) // 2


def capabilities() -> frozenset[str]:
    """Those of CAPABILITIES that this process has in effect."""
    status = kernel_lines("/proc/self/status")
    effective = next((int(line.split()[1], 16) for line in status if line.startswith("CapEff:")), 0)
    return frozenset(name for name, bit in CAPABILITIES.items() if effective >> bit & 1)


def setting(path: str) -> int | None:
    """The number in a file of /proc/sys, None if it cannot be read."""
    try:
        return int(read_kernel(f"/proc/sys/{path}"))
    except (OSError, ValueError):
        return None


def lockdown() -> str:
    """The kernel's lockdown mode: `none`, `integrity`, `confidentiality`; "" where it has none."""
    try:
        return kernel_text("/sys/kernel/security/lockdown").partition("[")[2].partition("]")[0]
    except OSError:
        return ""
