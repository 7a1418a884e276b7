"""Signals of clocks that a thread has blocked: taken out before it can unblock them, when nobody may be there to keep
them from it.

The thread is given a mask that blocks all but SIGTRAP, so that it stops where that is about to be delivered, without an
instruction of its own. There the tracer sees whose the signal is. The thread's own mask is put back before the thread
goes on: a signal that it blocks then is queued again as it was (ptrace_signal() in kernel/signal.c).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from sonde.engines.embedded.tracer import injection, ptrace
from sonde.engines.embedded.tracer.placement import WAIT
from sonde.machine import proc

_TRAP = 1 << signal.SIGTRAP - 1
_BETWEEN_LOOKS = 50e-6
"""Seconds."""


def is_pending(tid: int) -> bool:
    """Whether a thread has yet to get a SIGTRAP."""
    return pending_and_blocked(tid)[0]


def is_blocked(tid: int) -> bool:
    """Whether a thread blocks SIGTRAP."""
    return pending_and_blocked(tid)[1]


def pending_and_blocked(tid: int) -> tuple[bool, bool]:
    """Whether a thread has yet to get a SIGTRAP, and whether it blocks it; neither if it is gone."""
    try:
        found = proc.status(tid)
    except OSError:
        return False, False
    return bool(int(found["SigPnd"], 16) & _TRAP), bool(int(found["SigBlk"], 16) & _TRAP)


def take_out(tid: int, is_ours: Callable[[int], bool]) -> None:
    """Drop a pending SIGTRAP if it is ours. The thread stands for PTRACE_INTERRUPT, and stands so once more behind
    this. Raises OSError, injection.ThreadEndedError."""
    if not is_pending(tid):
        return
    mask = injection.exchange_mask(tid, injection.mask_of_all_but(_TRAP))
    ptrace.call(ptrace.CONT, tid, 0, 0)
    is_signal = _next_stop(tid) == ptrace.TRAP_STOP
    injection.exchange_mask(tid, mask)
    if not is_signal:
        # It has gone by itself: a process that ignores SIGTRAP from here on has none pending.
        return
    deliver = 0 if is_ours(tid) else signal.SIGTRAP
    ptrace.call(ptrace.INTERRUPT, tid, 0, 0)
    ptrace.call(ptrace.CONT, tid, 0, deliver)
    _next_stop(tid)


def _next_stop(tid: int) -> int:
    """The status of wait(2); the thread is made to stop if there is no signal for which it would. Raises OSError,
    injection.ThreadEndedError."""
    is_asked = False
    while True:
        found, status = os.waitpid(tid, WAIT | os.WNOHANG)
        if found and os.WIFSTOPPED(status):
            return status
        if found:
            raise injection.ThreadEndedError(status)
        if not is_asked and not is_pending(tid):
            is_asked = True
            ptrace.call(ptrace.INTERRUPT, tid, 0, 0)
        time.sleep(_BETWEEN_LOOKS)
