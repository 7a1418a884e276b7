"""Clocks of threads that stop them by themselves: perf events whose overflow sends SIGTRAP (attr.sigtrap of
perf_event_open(2), since Linux 5.13).

The kernel's timer interrupts a thread where it runs, and the signal stops it there, at that very instruction: for its
tracer, which keeps the signal to itself. Whoever may trace a thread may have such events on it, up to a
kernel.perf_event_paranoid of 2, where they count outside of the kernel. They are the guardian's own, so that they end
with it: nobody else would keep the signal from ending the thread.

What a thread makes inherits its events; a program that it executes does not (remove_on_exec, which sigtrap asks for).
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from collections.abc import Iterable, Sequence

from sonde.engines.embedded.tracer import ptrace
from sonde.engines.embedded.tracer.commands import MOST_CLOCKS
from sonde.engines.kernel.syscalls import perf_event_open
from sonde.formats import perf_events as perf

_SIZE = 128
"""PERF_ATTR_SIZE_VER7, the first with sig_data."""

_INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
_REMOVE_ON_EXEC, _SIGTRAP = 1 << 36, 1 << 37
_TASK_CLOCK = 1
_CLOSE_ON_EXEC = 8
_DATA = 120
_ATTRIBUTES = struct.Struct("=IIQQQQQ")
"""struct perf_event_attr: type, size, config, period, sample_type, read_format, flags; sig_data is at 120."""

_TRAP_PERF = 6
_SIGNAL = struct.Struct("=iii12xQ")
"""siginfo_t: si_signo, si_errno, si_code, si_perf_data."""


class ClockTraps:
    """Events of the periods, in ns of CPU time, for the threads that are added and what these make. `mark` is in the
    data of their signals, whose programs may have such events themselves."""

    def __init__(self, periods: Sequence[int], mark: int) -> None:
        self._periods = periods
        self._mark = mark * MOST_CLOCKS
        self._flags = _INHERIT | _EXCLUDE_HYPERVISOR | _REMOVE_ON_EXEC | _SIGTRAP
        self._events: dict[int, list[int]] = {}
        """Descriptors, by the number of the opening."""
        self._opening: dict[int, int] = {}
        """Of which opening each thread has the events."""
        self._count: dict[int, int] = {}
        """How many threads have those of each."""
        self._last = 0
        self._information = (ctypes.c_char * 128)()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def add(self, tid: int) -> None:
        """Raises OSError where the kernel gives no such events."""
        opened: list[int] = []
        try:
            for number, period in enumerate(self._periods):
                opened.append(self._open(tid, number, period))
        except BaseException:
            _close(opened)
            raise
        self._last += 1
        self._events[self._last] = opened
        self._have(tid, self._last)

    def _open(self, tid: int, number: int, period: int) -> int:
        if not self._flags & _EXCLUDE_KERNEL:
            try:
                return perf_event_open(self._attributes(number, period), tid, -1, -1, _CLOSE_ON_EXEC)
            except PermissionError:
                self._flags |= _EXCLUDE_KERNEL
        return perf_event_open(self._attributes(number, period), tid, -1, -1, _CLOSE_ON_EXEC)

    def _attributes(self, number: int, period: int) -> bytearray:
        made = bytearray(_SIZE)
        _ATTRIBUTES.pack_into(made, 0, perf.TYPE_SOFTWARE, _SIZE, _TASK_CLOCK, period, 0, 0, self._flags)
        struct.pack_into("=Q", made, _DATA, self._mark | number)
        return made

    def _have(self, tid: int, opening: int) -> None:
        self._opening[tid] = opening
        self._count[opening] = self._count.get(opening, 0) + 1

    def made(self, maker: int, tid: int) -> None:
        """A thread has made another one."""
        if maker in self._opening:
            self._have(tid, self._opening[maker])

    def executed(self, tid: int, former: int) -> None:
        """Another program is in the place of the thread that had the number `former`. Raises OSError."""
        for each in {tid, former}:
            self.forget(each)
        self.add(tid)

    def forget(self, tid: int) -> None:
        """The thread has no such events any more. The last that has them takes them along."""
        opening = self._opening.pop(tid, None)
        if opening is None:
            return
        self._count[opening] -= 1
        if not self._count[opening]:
            del self._count[opening]
            _close(self._events.pop(opening))

    def clock(self, tid: int) -> int:
        """The number of the clock that has stopped a thread which is about to get SIGTRAP, -1 if none has."""
        ptrace.call(ptrace.GETSIGINFO, tid, 0, ctypes.addressof(self._information))
        _, _, code, data = _SIGNAL.unpack_from(self._information)
        return data % MOST_CLOCKS if code == _TRAP_PERF and data & -MOST_CLOCKS == self._mark else -1

    def close(self) -> None:
        """No more signals are sent."""
        for opened in self._events.values():
            _close(opened)
        self._events, self._opening, self._count = {}, {}, {}


def _close(events: Iterable[int]) -> None:
    for each in events:
        os.close(each)
