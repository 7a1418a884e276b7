"""What is to be told of processes that are not traced, or do not run, as their user would expect."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable

from sonde.engines.embedded.tracer.executables import Executables
from sonde.machine import facts, system
from sonde.machine.program_files import is_32_bit
from sonde.visible import visible

_PATIENCE = 0.1
"""Seconds in which what the command has started may end behind it."""

_MOST = 5
"""Processes that are named."""


def _shown(name: bytes) -> str:
    return visible(name.decode(errors="replace"))


class Remarks:
    """`texts`, each once, in the order in which they came up. `calls`: whether system calls are asked for."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.calls = False
        self._privileged = "sys_ptrace" in system.capabilities()
        self._seen = Executables()

    def executed(self, tid: int, name: bytes) -> None:
        """The thread stands at the beginning of a program of that name."""
        try:
            found = self._seen.new(tid)
        except OSError:
            return
        if found is None:
            return
        if self.calls and is_32_bit(tid):
            self._add(f"{_shown(name)} is a 32-bit program: the embedded engine does not see its system calls")
        if found.st_mode & stat.S_ISUID and found.st_uid != os.geteuid() and not self._privileged:
            self._add(
                f"{_shown(name)} is setuid: Linux has it run with the user's own rights under a tracer, or behind a "
                "filter, so it may fail; trace it as root"
            )

    def _add(self, text: str) -> None:
        if text not in self.texts:
            self.texts.append(text)

    def outlived(self, pids: Iterable[int], has_filter: bool) -> None:
        """Tracing ends, and processes that the command has started may go on."""
        left = _living(pids)
        if not left:
            return
        named = ", ".join(f"{pid} ({_shown(name)})" for pid, name in left[:_MOST])
        more = f" and {len(left) - _MOST} more" if len(left) > _MOST else ""
        text = f"still running, traced no more: {named}{more}; -xfollow=all traces to the end of all"
        if has_filter:
            text += "; their probed calls stay slower by some microseconds, unless with -xseccomp=no"
        self._add(text)


def _living(pids: Iterable[int]) -> list[tuple[int, bytes]]:
    """Those that do not end soon, with their names."""
    waiting, limit = set(pids), time.monotonic() + _PATIENCE
    while waiting:
        waiting = {pid for pid in waiting if facts.state(pid) not in ("", "Z", "X")}
        if time.monotonic() >= limit or not waiting:
            break
        time.sleep(0.005)
    return [(pid, each.comm) for pid in sorted(waiting) if (each := facts.facts(pid)) is not None]
