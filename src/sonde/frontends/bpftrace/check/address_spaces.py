"""Whether numbers are addresses of a process or of the kernel."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.model.probe import StaticProbe, Syscall, Uprobe


def is_in_process(scope: BtScope) -> bool:
    """Whether numbers that are addresses are of the process: at its own probes and at its system calls."""
    return all(isinstance(each.firing, (Uprobe, StaticProbe, Syscall)) for each in scope.attached.probes)
