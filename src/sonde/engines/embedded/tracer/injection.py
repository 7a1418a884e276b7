"""Steps that a stopped thread makes for the guardian: one instruction, or a system call of the guardian's choice.

Signals are held back meanwhile, so that only the step itself, SIGKILL or job control stops the thread, and it is
afterwards as it was. A thread may have its calls turned into SIGSYS, all but those that it makes at some addresses
(syscall user dispatch, prctl(2)): that is switched off for a call of the guardian's choice.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from sonde.arch import instructions, registers, system_calls
from sonde.engines.embedded.tracer import ptrace
from sonde.engines.embedded.tracer.placement import WAIT
from sonde.symbols.mappings import VDSO, Mapping

_ALL = (1 << 64) - 1
_BLOCKED = _ALL & ~(1 << signal.SIGTRAP - 1)
"""The kernel would give SIGTRAP its default action if it were blocked where a step ends (force_sig)."""

_CAUSED = sum(
    1 << number - 1 for number in (signal.SIGILL, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV, signal.SIGSYS)
)
"""What an instruction may lead to: likewise."""

_MASK_SIZE = 8
_WORD = struct.Struct("=Q")
_STEPPED = signal.SIGTRAP << 8 | 0x7F

_DISPATCH = struct.Struct("=QQQQ")
"""struct ptrace_sud_config (include/uapi/linux/ptrace.h): mode, address of the selector, offset and length of the range
in which calls are made as ever. Of PR_SYS_DISPATCH_INCLUSIVE_ON the kernel tells the range around it."""

_OFF, _OUTSIDE, _INSIDE = 0, 1, 2
"""PR_SYS_DISPATCH_OFF, _EXCLUSIVE_ON and _INCLUSIVE_ON: calls made in the range alone are turned into signals."""


class ThreadEndedError(Exception):
    """It ended instead: its status of wait(2) is the argument."""


def step(tid: int) -> int:
    """Have the thread execute one instruction: 0, or the signal that it has caused, which the thread has not got yet.
    Raises OSError, ThreadEndedError."""
    return _step(tid, _CAUSED)


def _step(tid: int, admitted: int) -> int:
    """With all signals held back but SIGTRAP and those of `admitted` that the thread does not block itself. One that
    somebody has sent is held back, too: the kernel queues it again, as it is blocked by then (ptrace_signal())."""
    mask = exchange_mask(tid, _WORD.pack(_BLOCKED))
    if admitted := admitted & ~_WORD.unpack(mask)[0]:
        exchange_mask(tid, _WORD.pack(_BLOCKED & ~admitted))
    again, caused, returned = False, 0, 0
    while not caused:
        ptrace.call(ptrace.SINGLESTEP, tid, 0, returned)
        returned = 0
        _, status = os.waitpid(tid, WAIT)
        if not os.WIFSTOPPED(status):
            raise ThreadEndedError(status)
        if status == _STEPPED:
            break
        if not status >> 16 and admitted >> (status >> 8) - 1 & 1:
            code, _ = ptrace.signal_information(tid, ctypes.create_string_buffer(128))
            caused, returned = (status >> 8, 0) if code > 0 else (0, status >> 8)
            admitted = 0
            exchange_mask(tid, _WORD.pack(_BLOCKED))
        # Asked for by the guardian, or job control's: it comes again.
        again = again or status >> 16 == ptrace.EVENT_STOP
    exchange_mask(tid, mask)
    if again:
        ptrace.call(ptrace.INTERRUPT, tid, 0, 0)
    return caused


def system_call(tid: int, at: int, number: int, *arguments: int) -> int:
    """Have it make a system call, by the instruction for that at the address `at`: the result, -errno for an error.
    Raises OSError, ThreadEndedError."""
    before, changed = _registers_for(tid, at, number, arguments)
    with _undispatched(tid):
        ptrace.call(ptrace.SETREGS, tid, 0, ctypes.addressof(changed))
        try:
            _step(tid, 0)
            result = ptrace.call(ptrace.PEEKUSER, tid, registers.CALL_RESULT)
        finally:
            ptrace.call(ptrace.SETREGS, tid, 0, ctypes.addressof(before))
    return result


def quiet_system_call(tid: int, at: int, number: int, *arguments: int) -> int:
    """The same, for a thread that is in no system call: by stops at the call's entry and exit, as a step sends SIGTRAP,
    which is not ignored afterwards."""
    before, changed = _registers_for(tid, at, number, arguments)
    again, left = False, 2
    with _undispatched(tid):
        mask = exchange_mask(tid, _WORD.pack(_ALL))
        ptrace.call(ptrace.SETREGS, tid, 0, ctypes.addressof(changed))
        try:
            while left:
                ptrace.call(ptrace.SYSCALL, tid, 0, 0)
                _, status = os.waitpid(tid, WAIT)
                if not os.WIFSTOPPED(status):
                    raise ThreadEndedError(status)
                left -= status == ptrace.SYSCALL_STOP
                again = again or status >> 16 == ptrace.EVENT_STOP
            result = ptrace.call(ptrace.PEEKUSER, tid, registers.CALL_RESULT)
        finally:
            with suppress(ProcessLookupError):
                ptrace.call(ptrace.SETREGS, tid, 0, ctypes.addressof(before))
        exchange_mask(tid, mask)
    if again:
        ptrace.call(ptrace.INTERRUPT, tid, 0, 0)
    return result


@contextmanager
def _undispatched(tid: int) -> Iterator[None]:
    """Have the stopped thread's calls made, not turned into signals. Raises OSError where that could not be undone.
    Before Linux 6.4 nothing tells whether they would be."""
    config = ctypes.create_string_buffer(_DISPATCH.size)
    try:
        ptrace.call(ptrace.GET_SYSCALL_USER_DISPATCH, tid, _DISPATCH.size, ctypes.addressof(config))
    except ProcessLookupError:
        raise
    except OSError:
        yield
        return
    mode, selector, offset, length = _DISPATCH.unpack(config)
    if mode == _OFF:
        yield
        return
    if length and offset + length > _ALL:
        mode, offset, length = _INSIDE, offset + length & _ALL, -length & _ALL
    # What the kernel does not take now it would not take behind the call.
    _dispatch(tid, mode, selector, offset, length)
    _dispatch(tid, _OFF, 0, 0, 0)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            _dispatch(tid, mode, selector, offset, length)


def _dispatch(tid: int, *config: int) -> None:
    """Raises OSError."""
    kept = ctypes.create_string_buffer(_DISPATCH.pack(*config), _DISPATCH.size)
    ptrace.call(ptrace.SET_SYSCALL_USER_DISPATCH, tid, _DISPATCH.size, ctypes.addressof(kept))


def _registers_for(
    tid: int, at: int, number: int, arguments: Sequence[int]
) -> tuple[ctypes.Array[ctypes.c_char], ctypes.Array[ctypes.c_char]]:
    """The thread's registers, and those with which it makes a system call at the address `at`. Raises OSError."""
    before = ctypes.create_string_buffer(registers.USER_SIZE)
    ptrace.call(ptrace.GETREGS, tid, 0, ctypes.addressof(before))
    changed = ctypes.create_string_buffer(bytes(before), registers.USER_SIZE)
    _WORD.pack_into(changed, registers.CALL_NUMBER, _ALL)
    _WORD.pack_into(changed, registers.CALL_RESULT, number)
    _WORD.pack_into(changed, registers.PROGRAM_COUNTER, at)
    for argument, offset in zip(arguments, registers.CALL_ARGUMENTS, strict=False):
        _WORD.pack_into(changed, offset, argument & _ALL)
    return before, changed


def system_call_place(mappings: Sequence[Mapping], read: Callable[[int, int], bytes]) -> int:
    """The address of an instruction by which system calls are made, 0 if none is found; `read` is given an address and
    a size."""
    for each in sorted(mappings, key=lambda each: each.path != VDSO):
        if each.executable:
            with suppress(OSError):
                at = read(each.start, each.end - each.start).find(instructions.SYSTEM_CALL)
                if at >= 0:
                    return each.start + at
    return 0


MAP, UNMAP = system_calls.MMAP, system_calls.MUNMAP


def mask_of_all_but(signals: int) -> bytes:
    """The mask that blocks all signals but those of these bits."""
    return _WORD.pack(_ALL & ~signals)


def exchange_mask(tid: int, mask: bytes) -> bytes:
    """Give the stopped thread another mask of blocked signals: the former one. Raises OSError."""
    kept = ctypes.create_string_buffer(mask, _MASK_SIZE)
    former = ctypes.create_string_buffer(_MASK_SIZE)
    ptrace.call(ptrace.GETSIGMASK, tid, _MASK_SIZE, ctypes.addressof(former))
    ptrace.call(ptrace.SETSIGMASK, tid, _MASK_SIZE, ctypes.addressof(kept))
    return bytes(former)
