"""Which system calls are told by notification and not by a stop, and the guardian's part in that.

The kernel lets a signal interrupt a thread whose notification nobody has received yet, as if the call itself had been
interrupted (-ERESTARTSYS): behind a handler without SA_RESTART it would fail with EINTR. So only calls are notified
that are never interrupted like that themselves, and the guardian, who sees every signal before its delivery, makes such
a call begin again whatever the handler is.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from sonde.arch import registers, system_calls
from sonde.engines.embedded.tracer import notifier, ptrace, seccomp
from sonde.engines.embedded.tracer.plan import ENTRY, FOLLOWED, StopPlan
from sonde.machine import proc
from sonde.typed import Any

_RELEASE = (6, 17)
"""Linux from where on a signal cannot make a call be notified of twice (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV had a
race before), and the threads' end ends the wait for a notification."""

_RESTARTSYS, _RESTARTNOINTR = 512, 513


def notified(plan: StopPlan) -> frozenset[int]:
    """The calls of the plan that can be told so: told at entry only, nothing held or fetched, where the kernel can."""
    if not plan.notify or not plan.seccomp:
        return frozenset()
    found = frozenset(
        number
        for number, wanted in plan.calls.items()
        if wanted == ENTRY and number in system_calls.UNINTERRUPTED and number not in plan.fetches
        if not (plan.maps and number in FOLLOWED)
    )
    return found if found and _is_possible() else frozenset()


def _is_possible() -> bool:
    release = os.uname().release.split(".")
    try:
        if (int(release[0]), int(release[1].partition("-")[0])) < _RELEASE:
            return False
        own = os.pidfd_open(os.getpid())
    except (OSError, ValueError, IndexError):
        return False
    try:
        os.close(duplicate(own, own))
    except OSError:
        return False
    finally:
        os.close(own)
    return True


@cache
def _library() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def duplicate(process: int, descriptor: int) -> int:
    """A duplicate of a descriptor of another process, which is given by a pidfd. Raises OSError."""
    found = int(_library().syscall(system_calls.PIDFD_GETFD, process, descriptor, 0))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def duplicate_of(tid: int, descriptor: int) -> int:
    """A duplicate of a descriptor of a thread's process. Raises OSError."""
    process = os.pidfd_open(int(proc.status(tid)["Tgid"]))
    try:
        return duplicate(process, descriptor)
    finally:
        os.close(process)


def _can_take_from(tid: int) -> bool:
    """Whether the thread's descriptors can be duplicated."""
    try:
        process = os.pidfd_open(tid)
    except OSError:
        return False
    try:
        os.close(duplicate(process, 0))
    except OSError as error:
        # It is known that it may be asked for before it is looked up.
        return error.errno == errno.EBADF
    finally:
        os.close(process)
    return True


class Notifications:
    """In the guardian: the listener of the command's filter and the notifier that reads it.

    `awaited` is the thread that is about to install the filter, each of whose calls stops it until then, or 0;
    `numbers` the calls that are notified of, once they are. `fork` makes a process that serves a listener: its pid.
    """

    def __init__(self, fork: Callable[[int], int]) -> None:
        self.awaited = 0
        self.numbers: frozenset[int] = frozenset()
        self._fork = fork
        self._listener = -1
        self._notifier = 0

    def look(self, tid: int, numbers: frozenset[int]) -> None:
        """The awaited thread enters or leaves a system call, or is gone. Raises OSError."""
        with suppress(ProcessLookupError):
            if (
                ptrace.call(ptrace.PEEKUSER, tid, registers.CALL_NUMBER) != system_calls.SECCOMP
                or not ptrace.call(ptrace.PEEKUSER, tid, registers.CALL_ARGUMENTS[1]) & seccomp.NEW_LISTENER
            ):
                return
            descriptor = ptrace.result(tid)
            if descriptor == -errno.ENOSYS and not _can_take_from(tid):
                # It enters the call, which is skipped: it asks for the filter that does without a listener then.
                ptrace.call(ptrace.POKEUSER, tid, registers.CALL_NUMBER, -1)
            if descriptor < 0:
                return
            self.awaited = 0
            process = os.pidfd_open(tid)
            try:
                self._listener = duplicate(process, descriptor)
            except OSError:
                # Its calls would wait for ever.
                os.kill(tid, signal.SIGKILL)
                raise
            finally:
                os.close(process)
            self.numbers = numbers
            self._notifier = self._fork(self._listener)

    def has_changed(self, pid: int, status: int) -> bool:
        """Take a status of wait(2), if it is the notifier's: it is there as long as there is the filter."""
        if pid != self._notifier or not pid:
            return False
        if os.WIFSTOPPED(status):
            os.kill(pid, signal.SIGCONT)
        elif notifier.has_ended(self._listener):
            os.close(self._listener)
            self._notifier = 0
        else:
            self._notifier = self._fork(self._listener)
        return True

    def begin_again(self, tid: int) -> None:
        """A signal is about to be delivered: a call that it kept from being told of is to begin again."""
        if not self.numbers:
            return
        with suppress(OSError):
            if (
                ptrace.call(ptrace.PEEKUSER, tid, registers.CALL_RESULT) == -_RESTARTSYS
                and ptrace.call(ptrace.PEEKUSER, tid, registers.CALL_NUMBER) in self.numbers
            ):
                ptrace.call(ptrace.POKEUSER, tid, registers.CALL_RESULT, -_RESTARTNOINTR)
