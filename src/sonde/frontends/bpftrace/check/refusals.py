"""Functions that there are not, and why."""

from __future__ import annotations

REASONS = {
    "comm": "of another process than the one that fires no name is looked up; print the file /proc/PID/comm by cat()",
    "debugf": "it writes into the kernel's trace buffer, which all tracers share; printf() shows the same",
    "dw_ustack": "ustack() follows the tables of files that have no frame pointers by itself",
    "override": "no probe of sonde lets a function return without being run; inject() of D gives system calls results",
    "percpu_kaddr": "sonde's programs have no addresses of per-CPU data",
    "skboutput": "pcap() of D writes packets into files",
    "unwatch": "the watchpoints of a program stay until it ends",
}
"""By their names."""
