"""System calls that a stop of the guardian's own has interrupted: they begin again, and the thread sees nothing of it.

Most calls do so by themselves behind a stop (signal(7)): their result is then one of -ERESTARTSYS to
-ERESTART_RESTARTBLOCK (include/linux/errno.h). Some return EINTR. Where no signal is there to be the reason, that is
turned into -ERESTARTNOHAND, by which the kernel makes the call once more, unless a signal is handled before the thread
has gone on: then it returns EINTR itself, though nobody traces any more. A limit of time begins anew. While the thread
is traced the delivery of any signal stops it once more, and EINTR is put back: also where the signal has no handler.
"""

from __future__ import annotations

import errno
import signal
from contextlib import suppress

from sonde.arch import registers, system_calls
from sonde.engines.embedded.tracer import ptrace, unfinished
from sonde.engines.embedded.tracer.threads import TracedThreads
from sonde.machine import proc
from sonde.machine.facts import is_signal_ignored

_RESTARTNOHAND = 514
_TRAP, _PIPE = 1 << signal.SIGTRAP - 1, 1 << signal.SIGPIPE - 1


def begin_again(threads: TracedThreads, tid: int) -> int:
    """The thread stopped because the guardian asked for it. The number of the call that it will make again, -1 if there
    is none. Raises OSError."""
    number = ptrace.interrupted(tid)
    if number >= 0:
        return number
    if ptrace.result(tid) != -errno.EINTR:
        return -1
    number = ptrace.called(tid)
    if not _may_fail(tid) or has_signal(threads, tid):
        return -1
    ptrace.call(ptrace.POKEUSER, tid, registers.CALL_RESULT, -_RESTARTNOHAND)
    threads.renewed.add(tid)
    return number


def signalled(threads: TracedThreads, tid: int, number: int) -> None:
    """A signal is about to be delivered to a thread whose call was to begin again, or has failed: to be called before
    its delivery. What a tracer alone is shown, as the process ignores it, makes no call fail."""
    if is_signal_ignored(tid, number):
        with suppress(OSError):
            if is_failing(tid):
                ptrace.call(ptrace.POKEUSER, tid, registers.CALL_RESULT, -_RESTARTNOHAND)
        return
    threads.renewed.discard(tid)
    call = threads.unfinished.pop(tid, None)
    if call is not None:
        finish(threads, tid, call, number)
    with suppress(OSError):
        if ptrace.result(tid) == -_RESTARTNOHAND and _may_fail(tid):
            ptrace.call(ptrace.POKEUSER, tid, registers.CALL_RESULT, -errno.EINTR)


def finish(threads: TracedThreads, tid: int, call: unfinished.Unfinished, number: int = 0) -> None:
    """End a call that was made once more. `number`: the signal that is about to be delivered. A SIGPIPE for the rest
    of a write is noted if it comes next: a socket sends none with MSG_NOSIGNAL, and one that is blocked stays so."""
    if unfinished.finish(tid, call):
        with suppress(OSError):
            if number == signal.SIGPIPE or _waiting(tid) & _PIPE:
                threads.broken.add(tid)


def is_extra(threads: TracedThreads, tid: int, number: int) -> bool:
    """True for a signal that the thread would not get without a tracer, to be asked after signalled(): a SIGPIPE for
    the rest of a write that a stop had cut short. The next write has its own."""
    if number != signal.SIGPIPE or tid not in threads.broken:
        return False
    threads.broken.discard(tid)
    return True


def has_signal(threads: TracedThreads, tid: int) -> bool:
    """True if a signal is pending that the thread does not block, other than a clock's. Raises OSError."""
    waiting = _waiting(tid)
    if threads.traps is not None and tid in threads.traps:
        waiting &= ~_TRAP
    return bool(waiting)


def _waiting(tid: int) -> int:
    """The mask of pending signals that the thread does not block. Raises OSError."""
    found = proc.status(tid)
    return (int(found["SigPnd"], 16) | int(found["ShdPnd"], 16)) & ~int(found["SigBlk"], 16)


def is_to_be_repeated(threads: TracedThreads, tid: int, result: int) -> bool:
    """Whether a call that leaves with this result does so for a stop that the guardian asked for alone: it has not
    returned then."""
    if tid not in threads.standing and tid not in threads.turning:
        return False
    return -result in ptrace.RESTARTS or result == -errno.EINTR


def is_failing(tid: int) -> bool:
    """Whether the thread leaves a call that may have failed by a stop. Raises OSError."""
    return ptrace.result(tid) == -errno.EINTR and _may_fail(tid)


def _may_fail(tid: int) -> bool:
    """True if a stop can make the call fail that the thread leaves. Raises OSError."""
    number = ptrace.called(tid)
    if number not in system_calls.FAILING and number not in system_calls.COMPAT_FAILING:
        return False
    return number in (system_calls.FAILING if ptrace.is_native(tid) else system_calls.COMPAT_FAILING)


def ask_again(threads: TracedThreads, tid: int) -> None:
    """The kernel forgets that a thread is to stop where it stops for another reason before, at its call's exit."""
    threads.standing.add(tid)
    threads.ptrace(ptrace.INTERRUPT, tid, 0, 0)
