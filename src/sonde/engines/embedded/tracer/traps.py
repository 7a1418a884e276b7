"""Clocks of threads that stop them by themselves: perf events whose overflow sends SIGTRAP (attr.sigtrap of
perf_event_open(2), since Linux 5.13).

The kernel's timer interrupts a thread where it runs, and the signal stops it there, at that very instruction: for its
tracer, which keeps the signal to itself. A clock counts outside of the kernel alone, so that it cuts no system call
short. Whoever may trace a thread may have such events on it, up to a kernel.perf_event_paranoid of 2. They are the
guardian's own, so that they end with it: nobody else would keep the signal from ending the thread.

Each thread has events of its own, opened before its first instruction, and anew behind exec (remove_on_exec, which
sigtrap asks for). Where the first period of a thread begins is left to chance, or what runs for less than one would
never be met: so the first sample comes after a part of it.

A thread that blocks SIGTRAP does not stop; the signal stays pending, and takes the place of one of the program's own.
Such a thread has no clock: it is asked to stop.
"""

from __future__ import annotations

import ctypes
import errno
import os
import random
import resource
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress

from sonde.engines.embedded.tracer import pending_traps, ptrace
from sonde.engines.embedded.tracer.commands import MOST_CLOCKS
from sonde.engines.kernel import perf_events
from sonde.engines.kernel.syscalls import perf_event_open
from sonde.formats import perf_events as perf
from sonde.model.units import MILLISECOND

_SIZE = 128
"""PERF_ATTR_SIZE_VER7, the first with sig_data."""

_EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 5, 1 << 6
_REMOVE_ON_EXEC, _SIGTRAP = 1 << 36, 1 << 37
_FLAGS = _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR | _REMOVE_ON_EXEC | _SIGTRAP
_TASK_CLOCK = 1
_CLOSE_ON_EXEC = 8
_DATA = 120
_ATTRIBUTES = struct.Struct("=IIQQQQQ")
"""struct perf_event_attr: type, size, config, period, sample_type, read_format, flags; sig_data is at 120."""

_TRAP_PERF = 6
_SIGNAL = struct.Struct("=iii12xQ")
"""siginfo_t: si_signo, si_errno, si_code, si_perf_data."""


_BETWEEN_LOOKS = 25 * MILLISECOND
"""ns at least; sonde asks every 38 to 63 ms, if it does so for nothing else."""


class ClockTraps:
    """Events of the periods, in ns of CPU time, for the threads that are added. `mark` is in the data of their signals,
    as programs may have such events themselves. `left`: threads that had clocks, whose signal may still be pending."""

    def __init__(self, periods: Sequence[int], mark: int) -> None:
        self._periods = periods
        self._mark = mark * MOST_CLOCKS
        self.left: set[int] = set()
        self._events: dict[int, list[int]] = {}
        """Descriptors, by thread."""
        self._begun: dict[int, int] = {}
        """By thread, a bit for each clock whose first period is over."""
        self._blocking: set[int] = set()
        """Threads that were found to block SIGTRAP when they were looked at last."""
        self._next_look = 0
        self._information = (ctypes.c_char * 128)()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most = hard // 2
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def __contains__(self, tid: int) -> bool:
        """Whether the thread has clocks."""
        return tid in self._events

    def find(self, tid: int) -> None:
        """A thread is there that may block SIGTRAP. Raises OSError where the kernel gives no such events."""
        if not pending_traps.is_blocked(tid):
            self._add(tid)

    def _add(self, tid: int) -> None:
        if (len(self._events) + 1) * len(self._periods) > self._most:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        opened: list[int] = []
        try:
            for number, period in enumerate(self._periods):
                opened.append(self._open(tid, number, 1 + random.randrange(period)))
        except BaseException:
            _close(opened)
            raise
        self._events[tid] = opened
        self._begun[tid] = 0

    def _open(self, tid: int, number: int, period: int) -> int:
        return perf_event_open(self._attributes(number, period), tid, -1, -1, _CLOSE_ON_EXEC)

    def _attributes(self, number: int, period: int) -> bytearray:
        made = bytearray(_SIZE)
        _ATTRIBUTES.pack_into(made, 0, perf.TYPE_SOFTWARE, _SIZE, _TASK_CLOCK, period, 0, 0, _FLAGS)
        struct.pack_into("=Q", made, _DATA, self._mark | number)
        return made

    def made(self, maker: int, tid: int) -> None:
        """A thread has made another one, which has not run yet. It may block all signals only as long as it is made.
        One that can have no clock is asked to stop."""
        with suppress(OSError):
            if maker in self._events:
                self._add(tid)
            else:
                self.find(tid)

    def executed(self, tid: int, former: int) -> None:
        """Another program is in the place of the thread that had the number `former`, with its signals."""
        for each in {tid, former}:
            self.forget(each)
        self.left.add(tid)
        with suppress(OSError):
            self.find(tid)

    def forget(self, tid: int) -> None:
        """The thread is gone."""
        self.left.discard(tid)
        self._blocking.discard(tid)
        self._begun.pop(tid, None)
        _close(self._events.pop(tid, ()))

    def is_time_to_look(self, now: int) -> bool:
        """Whether threads may have blocked SIGTRAP since they were looked at last; `now` is in ns (monotonic)."""
        if now < self._next_look:
            return False
        self._next_look = now + _BETWEEN_LOOKS
        return True

    def cannot_stop(self, tid: int) -> bool:
        """Whether a thread is found to have no use for its clocks, which are gone then: it blocks SIGTRAP, and one is
        pending, or it did so when it was looked at before. For moments many do, as where they make threads."""
        is_pending, is_blocked = pending_traps.pending_and_blocked(tid)
        if not is_blocked:
            self._blocking.discard(tid)
            return False
        if not is_pending and tid not in self._blocking:
            self._blocking.add(tid)
            return False
        self.forget(tid)
        self.left.add(tid)
        return True

    def clock(self, tid: int) -> int:
        """The number of the clock that has stopped a thread which is about to get SIGTRAP, -1 if none has."""
        ptrace.call(ptrace.GETSIGINFO, tid, 0, ctypes.addressof(self._information))
        _, _, code, data = _SIGNAL.unpack_from(self._information)
        if code != _TRAP_PERF or data & -MOST_CLOCKS != self._mark:
            return -1
        clock = int(data % MOST_CLOCKS)
        if tid in self._events and not self._begun[tid] >> clock & 1:
            self._begun[tid] |= 1 << clock
            perf_events.set_period(self._events[tid][clock], self._periods[clock])
        return clock

    def is_pending(self, tid: int) -> bool:
        """Whether the thread has yet to get a signal, mostly as it blocks it."""
        return pending_traps.is_pending(tid)

    def take_out(self, tid: int) -> None:
        """Drop a clock's signal that the thread blocks, for which pending_traps.take_out() says how."""
        pending_traps.take_out(tid, lambda each: self.clock(each) >= 0)

    def close(self) -> None:
        """No more signals are sent."""
        for opened in self._events.values():
            _close(opened)
        self._events, self._begun = {}, {}


def _close(events: Iterable[int]) -> None:
    for each in events:
        os.close(each)
