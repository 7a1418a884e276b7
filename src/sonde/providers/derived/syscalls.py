"""Conditions on system calls, for probes that follow from the raw tracepoints sys_enter and sys_exit.

Calls are told apart by number; the thread says whether it is in a 32-bit call, which has its number of another table.
"""

from __future__ import annotations

from sonde.arch import registers, system_calls
from sonde.arch.call_numbers import compat, native
from sonde.typed import NamedTuple

CALLING = "(int)args->id"
"""The number of the call, in sys_enter."""

CALLED = f"(int)args->regs->{registers.CALL_NUMBER_MEMBER}"
"""The same in sys_exit."""

ARGUMENTS = tuple(f"args->regs->{member}" for member in registers.CALL_ARGUMENT_MEMBERS)
COMPAT_ARGUMENTS = tuple(f"args->regs->{member}" for member in registers.COMPAT_CALL_ARGUMENT_MEMBERS)
"""The arguments of the call, 64-bit and 32-bit."""

IS_COMPAT = f"(curthread->thread_info.{system_calls.COMPAT_MEMBER} & {system_calls.COMPAT_BIT})"


class SystemCalls(NamedTuple):
    """System calls that are told apart no further: their 64-bit and their 32-bit numbers."""

    native: tuple[int, ...]
    compat: tuple[int, ...]


EXEC = SystemCalls(native("execve", "execveat"), compat("execve", "execveat"))

_FORKS = ("clone", "fork", "vfork", "clone3")
FORK = SystemCalls(native(*_FORKS), compat(*_FORKS))

SIGTIMEDWAIT = SystemCalls(native("rt_sigtimedwait"), compat("rt_sigtimedwait", "rt_sigtimedwait_time64"))
YIELD = SystemCalls(native("sched_yield"), compat("sched_yield"))


def is_call(number: str, call: SystemCalls) -> str:
    """Whether `number`, one of the expressions above, is that of the call."""
    of_64_bits, of_32_bits = (" || ".join(f"{number} == {each}" for each in numbers) for numbers in call)
    return f"({IS_COMPAT} ? ({of_32_bits}) : ({of_64_bits}))"


def _flags_of_fork(call: tuple[int, ...], first: str) -> str:
    clone, _, vfork, clone3 = call
    return (
        f"{CALLED} == {clone3} ? *(uint64_t *)copyin({first}, 8) : {CALLED} == {clone} ? {first} : "
        f"{CALLED} == {vfork} ? 0x4000 : 0"
    )


FLAGS_OF_FORK = (
    f"({IS_COMPAT} ? ({_flags_of_fork(FORK.compat, COMPAT_ARGUMENTS[0])}) : "
    f"{_flags_of_fork(FORK.native, ARGUMENTS[0])})"
)
"""What sys_exit can tell of the flags (CLONE_*): clone has them as an argument, clone3 at the beginning of what its
first argument points to."""

BEGUN = f"args->ret == 0 && {is_call(CALLED, FORK)}"
"""In sys_exit: a new thread returns from the call that made it before it does anything else."""
