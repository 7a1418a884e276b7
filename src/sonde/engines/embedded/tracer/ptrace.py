"""ptrace(2): requests, options, the statuses of stops, and calls prepared once.

Numbers are those of include/uapi/linux/ptrace.h; registers are told by their places in struct pt_regs.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable
from functools import cache

from sonde.arch import instructions, registers, system_calls

PEEKDATA, POKEDATA, PEEKUSER, POKEUSER, CONT, SINGLESTEP, GETREGS, SETREGS, DETACH, SYSCALL = (
    2,
    5,
    3,
    6,
    7,
    9,
    12,
    13,
    17,
    24,
)
TRACEME = 0
SETOPTIONS, GETEVENTMSG, GETSIGINFO, SETSIGINFO = 0x4200, 0x4201, 0x4202, 0x4203
GETSIGMASK, SETSIGMASK = 0x420A, 0x420B
SEIZE, INTERRUPT, LISTEN, GET_SYSCALL_INFO = 0x4206, 0x4207, 0x4208, 0x420E
SET_SYSCALL_USER_DISPATCH, GET_SYSCALL_USER_DISPATCH = 0x4210, 0x4211

O_SYSGOOD, O_FORK, O_VFORK, O_CLONE, O_EXEC, O_EXIT = 0x1, 0x2, 0x4, 0x8, 0x10, 0x40
O_SECCOMP, O_EXITKILL = 0x80, 0x100000

EVENT_FORK, EVENT_VFORK, EVENT_CLONE, EVENT_EXEC, EVENT_EXIT, EVENT_SECCOMP = 1, 2, 3, 4, 6, 7
EVENT_STOP = 128
"""Of a tracee that was seized: the first stop of a child, a group-stop, or the answer to INTERRUPT."""

SYSCALL_STOP = 0x857F
"""waitpid's status of an entry to or exit from a system call (SIGTRAP | 0x80, PTRACE_O_TRACESYSGOOD)."""

TRAP_STOP = 0x57F
"""waitpid's status of a thread that gets SIGTRAP: it has run onto a breakpoint, made a step, or was sent the signal."""

SECCOMP_STOP = 0x7057F
"""waitpid's status where a filter said SECCOMP_RET_TRACE."""

INFO_SIZE = 88
"""sizeof(struct ptrace_syscall_info): operation u8, architecture u32 at 4, ip, sp u64 at 8, then at 24 for an entry or
seccomp stop: the number and six arguments u64, then for the latter the filter's data u32; for an exit: the result s64
and a byte that tells whether it is an error."""

INFO_ENTRY, INFO_EXIT, INFO_SECCOMP = 1, 2, 3


def prepared() -> Callable[..., int]:
    """ptrace as fast as ctypes calls it: arguments of at most 31 bits as they are, addresses as c_void_p.

    It returns what libc's ptrace does cut to 32 bits, -1 where it failed, and keeps no errno.
    """
    return ctypes.PyDLL(None)["ptrace"]


@cache
def _complete() -> Callable[..., int]:
    """libc's ptrace with all bits of its arguments and result, and errno.

    There is one, as a library that ctypes opens is garbage that only the collector finds, which the guardian does
    without.
    """
    function = ctypes.CDLL(None, use_errno=True)["ptrace"]
    function.restype = ctypes.c_long
    function.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    return function


def call(request: int, tid: int, address: int = 0, data: int = 0) -> int:
    """One request with 64-bit arguments. Raises OSError: ProcessLookupError if the thread is gone or not stopped."""
    ctypes.set_errno(0)
    result = _complete()(request, tid, address, data)
    if result == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


def event_message(tid: int) -> int:
    """What the kernel has to say about the event that the thread stopped at (PTRACE_GETEVENTMSG). Raises OSError."""
    word = ctypes.c_ulong()
    call(GETEVENTMSG, tid, 0, ctypes.addressof(word))
    return word.value


RESTARTS = (512, 513, 514, 516)
"""ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND and ERESTART_RESTARTBLOCK, which no program ever sees."""


def peek(tid: int, address: int) -> int:
    """A word of the thread's memory, unsigned. Raises OSError."""
    return call(PEEKDATA, tid, address) & 0xFFFFFFFFFFFFFFFF


def peek_user(tid: int, place: int) -> int:
    """A register of the thread, unsigned. Raises OSError."""
    return call(PEEKUSER, tid, place) & 0xFFFFFFFFFFFFFFFF


def called(tid: int) -> int:
    """The number of the system call that the stopped thread is in. Raises OSError."""
    return call(PEEKUSER, tid, registers.CALL_NUMBER)


def is_native(tid: int) -> bool:
    """True if the stopped thread leaves a 64-bit system call, by the instruction before its address. Raises OSError."""
    place = peek_user(tid, registers.PROGRAM_COUNTER) - system_calls.INSTRUCTION_SIZE
    try:
        return peek(tid, place) & 0xFFFF == system_calls.INSTRUCTION
    except OSError:
        return False  # nothing can be read there, as of the page for vsyscalls


def result(tid: int) -> int:
    """What the system call that the stopped thread has left returns. Raises OSError."""
    return call(PEEKUSER, tid, registers.CALL_RESULT)


def interrupted(tid: int) -> int:
    """The number of the system call that the stopped thread has left and will make again; -1 if there is none.

    The result is then -ERESTARTSYS to -ERESTART_RESTARTBLOCK (include/linux/errno.h). Raises OSError.
    """
    number = called(tid)
    return number if number >= 0 and -result(tid) in RESTARTS else -1


def signal_information(tid: int, information: ctypes.Array[ctypes.c_char]) -> tuple[int, int]:
    """si_code and si_pid, which is 0 if no process sent it, of the signal about to be delivered; all of its siginfo_t,
    128 bytes, goes into `information`. Raises OSError."""
    call(GETSIGINFO, tid, 0, ctypes.addressof(information))
    _, _, code, sender = struct.unpack_from("=iii4xi", information)
    return code, sender if code <= 0 else 0


def stopped_by(tid: int) -> int | None:
    """The signal that the thread stands still for, None if it does not."""
    information = (ctypes.c_char * 128)()
    try:
        call(GETSIGINFO, tid, 0, ctypes.addressof(information))
    except OSError:
        return None
    (number,) = struct.unpack_from("=i", information)
    return int(number)


def set_breakpoint(tid: int, address: int) -> int:
    """Put a breakpoint there, for the stopped thread; the word that was there. Raises OSError."""
    word = peek(tid, address)
    call(POKEDATA, tid, address, word & ~0xFF | instructions.BREAKPOINT)
    return word


def has_run_onto(tid: int, address: int) -> bool:
    """Whether the stopped thread stands behind a breakpoint at `address`. Raises OSError."""
    return call(PEEKUSER, tid, registers.PROGRAM_COUNTER) & 0xFFFFFFFFFFFFFFFF == address + 1


def step_back_to(tid: int, address: int) -> bool:
    """If the thread has run onto a breakpoint at `address`, let it go on from there, else do nothing and return False.

    Raises OSError.
    """
    taken = ctypes.create_string_buffer(registers.USER_SIZE)
    call(GETREGS, tid, 0, ctypes.addressof(taken))
    if struct.unpack_from("=Q", taken, registers.PROGRAM_COUNTER)[0] != address + 1:
        return False
    struct.pack_into("=Q", taken, registers.PROGRAM_COUNTER, address)
    call(SETREGS, tid, 0, ctypes.addressof(taken))
    return True
