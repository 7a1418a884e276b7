"""Conditions on system calls, for probes that follow from the raw tracepoints sys_enter and sys_exit.

Calls are told apart by number, as x86-64 numbers them; a task in a 32-bit call has TS_COMPAT set and the numbers of the
other table (arch/x86/entry/syscalls/, arch/x86/include/asm/thread_info.h).
"""

from __future__ import annotations

from sonde.typed import NamedTuple

CALLING = "(int)args->id"
"""The number of the call, in sys_enter."""

CALLED = "(int)args->regs->orig_ax"
"""The same in sys_exit."""


class Call(NamedTuple):
    """System calls that are told apart no further: their 64-bit and their 32-bit numbers."""

    native: tuple[int, ...]
    compat: tuple[int, ...]


EXEC = Call((59, 322), (11, 358))
"""execve and execveat."""

FORK = Call((56, 57, 58, 435), (120, 2, 190, 435))
"""clone, fork, vfork and clone3."""

SIGTIMEDWAIT = Call((128,), (177, 421))
YIELD = Call((24,), (158,))


def is_call(number: str, call: Call) -> str:
    """Whether `number`, one of the expressions above, is that of the call."""
    native, compat = (" || ".join(f"{number} == {each}" for each in numbers) for numbers in call)
    return f"(curthread->thread_info.status & 2 ? ({compat}) : ({native}))"


FLAGS_OF_FORK = (
    "((curthread->thread_info.status & 2) ? "
    f"({CALLED} == 435 ? *(uint64_t *)copyin(args->regs->bx, 8) : {CALLED} == 120 ? args->regs->bx : "
    f"{CALLED} == 190 ? 0x4000 : 0) : "
    f"{CALLED} == 435 ? *(uint64_t *)copyin(args->regs->di, 8) : {CALLED} == 56 ? args->regs->di : "
    f"{CALLED} == 58 ? 0x4000 : 0)"
)
"""What sys_exit can tell of the flags (CLONE_*): clone has them as an argument, clone3 at the beginning of what its
first argument points to."""

BEGUN = f"args->ret == 0 && {is_call(CALLED, FORK)}"
"""In sys_exit: a new thread returns from the call that made it before it does anything else."""
