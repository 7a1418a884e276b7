"""Who is who in a perf.data file: threads' names and processes' parents, as the file tells of them."""

from __future__ import annotations

from sonde.engines.fired import FiringThread
from sonde.formats.perf_side_band import SideBand, ThreadEnded, ThreadMade, ThreadNamed
from sonde.typed import NamedTuple

_LARGEST = (1 << 31) - 1
"""Numbers of threads are pid_t."""

_MOST = 1 << 16
"""Threads that are remembered: the last ones that were told of."""


class _Known(NamedTuple):
    pid: int
    name: bytes


class FiledThreads:
    def __init__(self) -> None:
        self._threads: dict[int, _Known] = {}
        self._parents: dict[int, int] = {}
        self._live: dict[int, set[int]] = {}

    def take(self, told: SideBand) -> bool:
        """Something that the file tells; whether a process has ended with that."""
        if isinstance(told, ThreadNamed):
            self._put(told.tid, told.pid, told.name)
        elif isinstance(told, ThreadMade):
            maker = self._threads.get(told.parent_tid)
            self._put(told.tid, told.pid, maker.name if maker else b"")
            if told.pid != told.parent:
                self._parents[told.pid] = told.parent & _LARGEST
                _cut(self._parents)
        elif isinstance(told, ThreadEnded):
            live = self._live.get(told.pid, set())
            live.discard(told.tid)
            if not live:
                self._live.pop(told.pid, None)
            return not live
        return False

    def thread(self, pid: int, tid: int, cpu: int) -> FiringThread:
        """The thread of that number, whose name is empty if it was never told."""
        pid, tid = pid & _LARGEST, tid & _LARGEST
        if not tid:
            # Each CPU has an idle thread, which nobody has made.
            return FiringThread(0, 0, b"swapper/%d" % max(cpu, 0), ppid=0)
        known = self._threads.get(tid)
        return self._of(tid, pid, known.name if known else b"")

    def any(self, tid: int, name: bytes, cpu: int) -> FiringThread:
        """A thread that is named by the way; who was never told of is taken for the first one of a process."""
        tid &= _LARGEST
        if not tid:
            return self.thread(0, 0, cpu)
        known = self._threads.get(tid)
        pid = known.pid if known else tid
        return self._of(tid, pid, name[:15])

    def _of(self, tid: int, pid: int, name: bytes) -> FiringThread:
        return FiringThread(tid, pid, name, ppid=self._parents.get(pid, -1))

    def _put(self, tid: int, pid: int, name: bytes) -> None:
        self._threads.pop(tid, None)
        self._threads[tid] = _Known(pid, name)
        _cut(self._threads)
        self._live.setdefault(pid, set()).add(tid)
        _cut(self._live)


def _cut(known: dict[int, _Known] | dict[int, int] | dict[int, set[int]]) -> None:
    """The last one to be told of is the last to be forgotten."""
    if len(known) > _MOST:
        del known[next(iter(known))]
