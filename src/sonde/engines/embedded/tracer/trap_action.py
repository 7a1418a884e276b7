"""What a process does for SIGTRAP, and whether a thread blocks it: kept where breakpoints would change that.

A breakpoint's SIGTRAP is forced: the kernel gives it the default action, and unblocks it, where the thread blocks or
ignores it (force_sig_info_to_task() in kernel/signal.c). By then only the action can be known from before: it is
followed. That a thread has blocked the signal follows from a handler that is lost; without a handler it is taken for
blocked where all others of its kind are, as by sigfillset(3).
"""

from __future__ import annotations

import ctypes
import signal
import struct
from collections.abc import Callable
from contextlib import suppress

from sonde.arch import registers, system_calls
from sonde.engines.embedded.tracer import injection, ptrace
from sonde.engines.embedded.tracer.code_space import (
    IGNORE,
    TRAP,
    UNTOLD,
    CodeSpace,
    initial_trap_action,
    may_be_refused,
)

_FAULTS = sum(1 << number - 1 for number in (signal.SIGILL, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV))
_BELOW = 1024
"""Bytes below the stack pointer, where there is room: leaf functions use the red zone, which no ABI has larger."""

_MASK = 8
_HANDLER = struct.Struct("=Q")


def changed(tid: int, space: CodeSpace) -> None:
    """The thread has made a call of rt_sigaction(2). Raises OSError."""
    number, action = (ptrace.call(ptrace.PEEKUSER, tid, place) for place in registers.CALL_ARGUMENTS[:2])
    if number == signal.SIGTRAP and action:
        found = space.read(action, len(IGNORE))
        space.trap_action = b"" if _HANDLER.unpack_from(found)[0] == signal.SIG_DFL else found


class TrapMender:
    """`mend(tid, space)`: the thread has run onto a breakpoint."""

    def __init__(self) -> None:
        self._mask = ctypes.c_uint64()
        self._at = ctypes.c_void_p(ctypes.addressof(self._mask))
        self._ptrace = ptrace.prepared()

    def mend(self, tid: int, space: CodeSpace) -> None:
        """Raises OSError, injection.ThreadEndedError."""
        if self._ptrace(ptrace.GETSIGMASK, tid, _MASK, self._at) < 0:
            return
        mask = self._mask.value
        is_blocked = mask & _FAULTS == _FAULTS
        if space.trap_action and not may_be_refused(tid) and self._restored(tid, space):
            is_blocked = is_blocked or not space.trap_action.startswith(IGNORE[:8])
        if is_blocked:
            self._mask.value = mask | TRAP
            self._ptrace(ptrace.SETSIGMASK, tid, _MASK, self._at)

    def _restored(self, tid: int, space: CodeSpace) -> bool:
        """Put back the action if it was lost; whether it was. Raises OSError, injection.ThreadEndedError."""
        if initial_trap_action(tid):
            if space.trap_action == UNTOLD:
                space.trap_action = _action(tid, space)
            return False
        if space.trap_action != UNTOLD:
            _with_memory(tid, space, space.trap_action, lambda at: (at, 0))
        return True


def _action(tid: int, space: CodeSpace) -> bytes:
    return _with_memory(tid, space, bytes(len(IGNORE)), lambda at: (0, at))


def _with_memory(tid: int, space: CodeSpace, data: bytes, arguments: Callable[[int], tuple[int, int]]) -> bytes:
    """Have the thread call rt_sigaction(2) with memory below its stack; what is there behind it."""
    at = ptrace.call(ptrace.PEEKUSER, tid, registers.STACK_POINTER) - _BELOW & ~15
    call_at = space.call_place(tid)
    kept = space.read(at, len(data))
    if not call_at or len(kept) < len(data):
        return data
    space.write(at, data)
    try:
        injection.quiet_system_call(tid, call_at, system_calls.SIGACTION, signal.SIGTRAP, *arguments(at), _MASK)
        return space.read(at, len(data))
    finally:
        with suppress(OSError):
            space.write(at, kept)
