"""Where the guardian runs: beside the thread that stops most.

A stop takes two turns, from the thread to the guardian and back. The scheduler gives either an idle CPU if there is
one, so both CPUs are woken up at each stop, which takes longer than all else: some 20 us where the machine is virtual
and an idle CPU has been given back to its host. Two that share a CPU take turns by a switch.

The kernel puts a thread that wakes up where it ran before if it finds that CPU idle, and so it counts one that has
nothing to run but SCHED_IDLE (sched_idle_cpu() in kernel/sched/fair.c). Hence, while one thread stops again and again,
the guardian goes to its CPU and has that policy there: the thread that it lets go takes the CPU over at once, and gives
it back when it stops. Where another thread has to be waited for, or none is ready, the guardian is like others again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from sonde.engines.embedded.tracer import ptrace, slices, turns
from sonde.machine.system import monotonic_ns
from sonde.model.units import MILLISECOND, SECOND
from sonde.typed import NamedTuple

WAIT = 0x40000000 | os.WUNTRACED
"""__WALL of wait(2), also children of clone; and the stops of children that are not traced: the watcher's."""

_JOINING = (ptrace.SYSCALL_STOP, ptrace.SECCOMP_STOP, ptrace.TRAP_STOP)
"""Statuses of stops that come one after the other."""

_SOON, _LATE = 4, 512
"""Stops in a row by one thread after which the guardian joins it: at first, and where joining has disturbed others."""

_PROVEN = 16
"""As many stops made beside a thread show that joining is right here."""

_BUSY = 200_000_000
"""ns until joining is tried again where somebody else wants the CPU."""

_HELD, _PAUSE, _LONGEST_PAUSE = MILLISECOND, SECOND, 16 * SECOND
"""ns: if the thread beside ran that long and another has stopped meanwhile elsewhere, that one had to wait for the CPU.
Joining is then tried again after a pause, which is doubled each time."""

_LONG = 3_000_000
"""ns: if the thread beside takes longer to stop, it may have been another that had the CPU."""


class _Own(NamedTuple):
    """How the guardian runs if not beside a thread."""

    policy: int
    parameters: os.sched_param
    cpus: set[int]


class Placement:
    """Waits for stops, and puts this process where the next is handled soonest."""

    def __init__(self) -> None:
        self.joined = False
        self._cpu = -1
        self._since = 0
        self._not_before = 0
        self._pause = _PAUSE
        self._turns = turns.Turns(0, 0, 0)
        self._last = 0
        self._row = 0
        self._enough = _SOON
        self._own = _Own(os.sched_getscheduler(0), os.sched_getparam(0), os.sched_getaffinity(0))
        self._return: Callable[[], object] | None = None

    def wait(self) -> tuple[int, int]:
        """A thread that has stopped or ended, and its status of wait(2)."""
        if self.joined:
            # A thread that has just been joined may not have its turn before this one sleeps.
            tid, status = os.waitpid(-1, WAIT | os.WNOHANG if self._row else WAIT)
            if not tid and turns.is_ready(self._last, self._cpu):
                # It has not been given the CPU at once: the guardian is owed time from before it had this policy, and
                # the scheduler takes nobody who is ahead of the others (entity_eligible() in kernel/sched/fair.c).
                tid, status = os.waitpid(-1, WAIT)
            if tid and (tid == self._last or self._is_here(tid, status)) and self._is_fair(tid):
                self._row += 1
                if not os.WIFSTOPPED(status):
                    self._last = 0
                return tid, status
            self._interrupted(tid)
            if tid:
                self._last = tid
                return tid, status
        tid, status = os.waitpid(-1, WAIT)
        if tid != self._last:
            self._last, self._row = tid, 0
            return tid, status
        self._row += 1
        if self._row >= self._enough and status in _JOINING:
            self._join(tid)
        return tid, status

    def _is_here(self, tid: int, status: int) -> bool:
        """Whether another thread has stopped on the same CPU, as one that has taken over from the last."""
        try:
            if not os.WIFSTOPPED(status) or turns.processor(tid) != self._cpu:
                return False
            self._turns = turns.taken(tid)
        except OSError:
            return False
        self._last = tid
        return True

    def _is_fair(self, tid: int) -> bool:
        """Whether the guardian gets the CPU as soon as this thread leaves it. Where a third wants that CPU as well, who
        is SCHED_IDLE there waits long."""
        now = monotonic_ns()
        since, self._since = self._since, now
        if now - since < _LONG:
            return True
        before = self._turns
        try:
            self._turns = turns.taken(tid)
        except OSError:
            # It has ended.
            return True
        if before.are_fair(self._turns):
            return True
        self._row, self._not_before = 0, now + _BUSY
        return False

    def part(self) -> None:
        """Run like others again. A CPU taken away meanwhile from all that ran on it is not asked for."""
        if self.joined and self._return:
            self.joined = False
            self._row = 0
            self._return()
            with suppress(OSError):
                os.sched_setaffinity(0, self._own.cpus)

    def _interrupted(self, tid: int) -> None:
        """Not the thread that was joined is next, but this one, or none yet."""
        now = monotonic_ns()
        if tid and now - self._since > _HELD:
            self._not_before = now + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        if self._row >= _PROVEN:
            self._enough = _SOON
        elif tid and self._last:
            self._enough = max(min(2 * self._enough, _LATE), self._enough)
        self.part()

    def _join(self, tid: int) -> None:
        """Run on the CPU that the stopped thread ran on. It may be gone, or its CPU not be ours."""
        self._row = 0
        now = monotonic_ns()
        if now < self._not_before:
            return
        if self._return is None:
            if not self._may_return():
                self._enough = 1 << 62
                return
            self._return = slices.prepared()
        try:
            self._cpu = turns.processor(tid)
            self._turns = turns.taken(tid)
            os.sched_setaffinity(0, {self._cpu})
        except OSError:
            return
        self._since = now
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        self.joined = True

    def _may_return(self) -> bool:
        """Whether this process may leave SCHED_IDLE again, for which it needs CAP_SYS_NICE or a limit that allows it
        (RLIMIT_NICE of setrlimit(2)): a child of it tries."""
        if self._own.policy not in (os.SCHED_OTHER, os.SCHED_BATCH):
            return False
        try:
            child = os.fork()
        except OSError:
            # There may be as many processes as there may be.
            return False
        if child == 0:
            try:
                os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
                os.sched_setscheduler(0, self._own.policy, self._own.parameters)
                os._exit(0)
            finally:
                os._exit(1)
        return os.waitpid(child, 0)[1] == 0
