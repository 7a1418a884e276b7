"""Numbers of system calls by their names, as the tables of this machine's processor have them."""

from __future__ import annotations

from functools import cache

from sonde.arch import compat_syscalls, syscalls
from sonde.typed import NamedTuple
from sonde.untrusted import lines


class DeclaredCall(NamedTuple):
    """A 64-bit system call: its number, and each argument as `type name`."""

    number: int
    arguments: tuple[str, ...]


def native(*names: str) -> tuple[int, ...]:
    """Those of 64-bit calls, by the names that system calls have (syscalls(2)). Raises KeyError."""
    numbers = _native()
    return tuple(numbers[name] for name in names)


def compat(*names: str) -> tuple[int, ...]:
    """Those of 32-bit calls. Raises KeyError."""
    numbers = _compat()
    return tuple(numbers[name] for name in names)


@cache
def native_names() -> dict[int, str]:
    """The names of 64-bit calls by their numbers."""
    return {number: name for name, number in _native().items()}


def implemented_by(call: str) -> str:
    """What the kernel calls the function of a 64-bit call where that is another name (`newuname` for `uname`): it is
    the one of the call's trace events and probes. "" where it is not."""
    return _functions().get(call, "")


@cache
def _functions() -> dict[str, str]:
    return {call: name for _, name, call in map(_row, lines(syscalls.CALLS)) if call and call != name}


@cache
def declared() -> dict[str, DeclaredCall]:
    """The 64-bit calls whose arguments are known, by the names of the functions that implement them, which their trace
    events have, too."""
    found = {}
    for line in lines(syscalls.CALLS):
        number, name, _ = _row(line)
        _, parenthesis, arguments = line.removesuffix(")").partition("(")
        if parenthesis:
            found[name] = DeclaredCall(number, tuple(each for each in arguments.split(", ") if each))
    return found


@cache
def _native() -> dict[str, int]:
    return {call or name: number for number, name, call in map(_row, lines(syscalls.CALLS))}


@cache
def _compat() -> dict[str, int]:
    # What stands behind the name there is the 64-bit call that has the same arguments.
    return {name: number for number, name, _ in map(_row, lines(compat_syscalls.CALLS))}


def _row(line: str) -> tuple[int, str, str]:
    number, _, names = line.partition("(")[0].partition(" ")
    name, _, call = names.partition("=")
    return int(number), name, call
