"""What is to be told of processes that are not traced, or do not run, as their user would expect."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterable, Sequence

from sonde.engines.embedded.tracer import stops
from sonde.engines.embedded.tracer.executables import Executables
from sonde.machine import facts, system
from sonde.machine.program_files import is_32_bit
from sonde.visible import visible

_PATIENCE = 0.1
"""Seconds in which what the command has started may end behind it."""

_MOST = 5
"""Processes that are named."""

_LOST = {
    stops.UNWRITTEN: "{count} breakpoints could not be put into {where}{why}: what runs there is not told. Code "
    "that is mapped shared takes none",
    stops.UNRETURNED: "{count} calls in {where} return to where no breakpoint could be put{why}: that is not told",
    stops.UNCALLED: "{count} calls in {where} return to code that no call stands before, as what coroutines begin with "
    "does: that is not told",
    stops.TAKEN_OUT: "{count} breakpoints had to be taken out of {where}{why}: what runs there later is not told",
    stops.PASSABLE: "a breakpoint in {where} was out for a step {count} times, in which other threads could pass it. "
    "Its instruction runs elsewhere where the process has no seccomp filter of its own and room near its code",
    stops.UNREAD: "the memory of {where} could not be looked at{why}: its functions are not told",
    stops.UNCOUNTED: "{count} static probes of {where} could not be switched on{why}: they do not fire where the "
    "program asks first",
    stops.UNSAMPLED: "{count} samples of {where} could not be taken{why}",
}

_MORE_FILES = "raise the limit of open files: `ulimit -n`"

_REFUSED = (errno.EACCES, errno.EPERM, errno.ENOSYS, errno.EINVAL, errno.E2BIG, errno.ENOENT, errno.EOPNOTSUPP)
"""By which perf_event_open(2) says that this user, or kernel, has no such clocks."""


def _shown(name: bytes) -> str:
    return visible(name.decode(errors="replace"))


class Remarks:
    """`texts`, each once, in the order in which they came up. `calls`: whether system calls are asked for."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.calls = False
        self._privileged = "sys_ptrace" in system.capabilities()
        self._seen = Executables()
        self._lost: dict[tuple[int, int], tuple[int, dict[int, bytes]]] = {}
        """By kind and errno how many, and in which processes."""

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

    def lost(self, pid: int, name: bytes, kind: int, count: int, error: int) -> None:
        """What is wanted of a process of that name is not there (stops.LOST)."""
        before, named = self._lost.get((kind, error), (0, {}))
        self._lost[kind, error] = before + count, named | {pid: name}

    def tell_losses(self) -> None:
        """At the end, when all are known."""
        for (kind, error), (count, named) in sorted(self._lost.items()):
            where = f"process {_named(list(named.items()))}"
            why = f": {os.strerror(error)}" if error else ""
            more = f"; {_MORE_FILES}" if error == errno.EMFILE else ""
            self._add(_LOST[kind].format(count=count, where=where, why=why) + more)

    def without_clocks(self, error: int) -> None:
        """Threads cannot have the clocks that would stop them for samples. Most often the user may not have any, which
        is told in the documentation."""
        if error == errno.EMFILE:
            self._add(
                "threads are asked to stop for samples, not stopped by clocks: an event for each of them takes more "
                f"descriptors than there are; {_MORE_FILES}"
            )
        elif error and error not in _REFUSED:
            self._add(f"threads are asked to stop for samples, not stopped by clocks: {os.strerror(error)}")

    def _add(self, text: str) -> None:
        if text not in self.texts:
            self.texts.append(text)

    def outlived(self, pids: Iterable[int], has_filter: bool) -> None:
        """Tracing ends, and processes that the command has started may go on."""
        left = _living(pids)
        if not left:
            return
        text = f"still running, traced no more: {_named(left)}; -xfollow=all traces to the end of all"
        if has_filter:
            text += "; their probed calls stay slower by some microseconds, unless with -xseccomp=no"
        self._add(text)


def _named(found: Sequence[tuple[int, bytes]]) -> str:
    """Some of the processes."""
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return ", ".join(f"{pid} ({_shown(name)})" for pid, name in found[:_MOST]) + more


def _living(pids: Iterable[int]) -> list[tuple[int, bytes]]:
    """Those that do not end soon, with their names."""
    waiting, limit = set(pids), time.monotonic() + _PATIENCE
    while waiting:
        waiting = {pid for pid in waiting if facts.state(pid) not in ("", "Z", "X")}
        if time.monotonic() >= limit or not waiting:
            break
        time.sleep(0.005)
    return [(pid, each.comm) for pid in sorted(waiting) if (each := facts.facts(pid)) is not None]
