"""Steps that a stopped thread makes for the guardian: one instruction, or a system call of the guardian's choice.

Signals are held back meanwhile, so that only the step itself, SIGKILL or job control stops the thread, and it is
afterwards as it was.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress

from sonde.arch import instructions, registers, system_calls
from sonde.engines.embedded.tracer import ptrace
from sonde.engines.embedded.tracer.placement import WAIT
from sonde.symbols.mappings import VDSO, Mapping

_ALL = (1 << 64) - 1
_BLOCKED = _ALL & ~(1 << signal.SIGTRAP - 1)
"""The kernel would give SIGTRAP its default action if it were blocked where a step ends (force_sig)."""

_MASK_SIZE = 8
_WORD = struct.Struct("=Q")
_STEPPED = signal.SIGTRAP << 8 | 0x7F


class ThreadEndedError(Exception):
    """It ended instead: its status of wait(2) is the argument."""


def step(tid: int) -> None:
    """Have the thread execute one instruction. Raises OSError, ThreadEndedError."""
    mask = exchange_mask(tid, _WORD.pack(_BLOCKED))
    again = False
    while True:
        ptrace.call(ptrace.SINGLESTEP, tid, 0, 0)
        _, status = os.waitpid(tid, WAIT)
        if not os.WIFSTOPPED(status):
            raise ThreadEndedError(status)
        if status == _STEPPED:
            break
        # Asked for by the guardian, or job control's: it comes again.
        again = again or status >> 16 == ptrace.EVENT_STOP
    exchange_mask(tid, mask)
    if again:
        ptrace.call(ptrace.INTERRUPT, tid, 0, 0)


def system_call(tid: int, at: int, number: int, *arguments: int) -> int:
    """Have it make a system call, by the instruction for that at the address `at`: the result, -errno for an error.
    Raises OSError, ThreadEndedError."""
    before, changed = _registers_for(tid, at, number, arguments)
    ptrace.call(ptrace.SETREGS, tid, 0, ctypes.addressof(changed))
    try:
        step(tid)
        result = ptrace.call(ptrace.PEEKUSER, tid, registers.CALL_RESULT)
    finally:
        ptrace.call(ptrace.SETREGS, tid, 0, ctypes.addressof(before))
    return result


def quiet_system_call(tid: int, at: int, number: int, *arguments: int) -> int:
    """The same, for a thread that is in no system call: by stops at the call's entry and exit, as a step sends SIGTRAP,
    which is not ignored afterwards."""
    before, changed = _registers_for(tid, at, number, arguments)
    mask = exchange_mask(tid, _WORD.pack(_ALL))
    again, left = False, 2
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
