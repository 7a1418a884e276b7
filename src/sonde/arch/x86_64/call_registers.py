"""The struct pt_regs of a thread at a system call, of what a stop tells of it (struct ptrace_syscall_info).

What is not told is as a process has it that has just been executed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from sonde.arch.x86_64 import registers as at

TOLD_BEGINNING = frozenset((at.AX, at.ORIG_AX, at.CS, at.SS))
"""The registers that are as the thread has them where a new one returns from the call that has made it."""
TOLD_LEAVING = TOLD_BEGINNING | {at.IP, at.SP}
"""Those where another call returns."""
TOLD_ENTERING = TOLD_LEAVING | frozenset(at.CALL_ARGUMENTS)
"""Those where one is entered."""

_WORDS = struct.Struct("=14Q")
"""r10 r9 r8 ax cx dx si di orig_ax ip cs flags sp ss, as they stand in struct pt_regs."""

_WORD = struct.Struct("=Q")

_NO_RESULT = -38 & 0xFFFF_FFFF_FFFF_FFFF
"""-ENOSYS, which ax holds while a system call is being entered (arch/x86/entry/entry_64.S)."""

_USER_CS, _USER_SS, _FLAGS = 0x33, 0x2B, 0x246


def entering(registers: bytearray) -> Callable[[int, int, int, int, int, int, int, int, int], None]:
    """A function (program counter, stack pointer, number, the six arguments) that fills in `registers`. As the
    processor does it, it puts the counter into cx, too."""
    pack = _WORDS.pack_into

    def fill(counter: int, stack: int, number: int, di: int, si: int, dx: int, r10: int, r8: int, r9: int) -> None:
        pack(
            registers, at.R10,
            r10, r9, r8, _NO_RESULT, counter, dx, si, di, number, counter, _USER_CS, _FLAGS, stack, _USER_SS,
        )  # fmt: skip

    return fill


def leaving(registers: bytearray) -> Callable[[int, int, int, int], None]:
    """A function (program counter, stack pointer, number, result) that fills in `registers`."""
    pack = _WORDS.pack_into

    def fill(counter: int, stack: int, number: int, result: int) -> None:
        pack(
            registers, at.R10,
            0, 0, 0, result, counter, 0, 0, 0, number, counter, _USER_CS, _FLAGS, stack, _USER_SS,
        )  # fmt: skip

    return fill


def set_unfinished(registers: bytearray) -> None:
    """Make those of a call that has returned, and keeps what it was given, those of a call that is under way."""
    _WORD.pack_into(registers, at.AX, _NO_RESULT)


def begin(registers: bytearray, number: int) -> None:
    """Fill in those of a new thread, of which nothing is known but the number of the call that it returns from."""
    registers[:] = bytes(at.SIZE)
    _WORDS.pack_into(registers, at.R10, 0, 0, 0, 0, 0, 0, 0, 0, number, 0, _USER_CS, _FLAGS, 0, _USER_SS)
