"""Probe lines at system calls, `opened=syscall/openat filename flags`: arguments by the names of their prototypes.

Arguments are there when the call is entered, its result when it returns. What they point to is the process's memory.
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.arch import registers
from sonde.arch.call_numbers import DeclaredCall, declared
from sonde.model import types
from sonde.model.probe import Tracepoint
from sonde.model.spec import FetchStep
from sonde.model.types import Type
from sonde.objects.errors import ObjectError
from sonde.objects.lines import SYSTEM_CALL, ProbeLine, WantedVariable
from sonde.objects.paths import FoundVariable, Reached, follow
from sonde.providers import type_names
from sonde.typed import NamedTuple

_RESULT = "$retval"

Lookup = Callable[[str, str], Type | None]
"""The kernel's type of a keyword and a name."""


class CallPlace(NamedTuple):
    """What fires a line's program, and the variables there."""

    firing: Tracepoint
    variables: tuple[FoundVariable, ...]


def system_call_place(line: ProbeLine, lookup: Lookup) -> CallPlace:
    """Raises ObjectError."""
    name = line.function.removeprefix(SYSTEM_CALL)
    call = declared().get(name)
    if call is None:
        raise ObjectError(f"{line.text!r}: there is no system call {name}", "its name is that of sys_enter_NAME")
    event = f"sys_{'exit' if line.is_return else 'enter'}_{name}"
    found = tuple(_variable(line, each, call, lookup) for each in line.variables)
    return CallPlace(Tracepoint("syscalls", event), found)


def _variable(line: ProbeLine, wanted: WantedVariable, call: DeclaredCall, lookup: Lookup) -> FoundVariable:
    if wanted.name == _RESULT:
        if not line.is_return:
            raise ObjectError(f"{_RESULT} is there when a system call returns", f"write {line.function}%return")
        return follow(Reached(types.LONG, (FetchStep("register", registers.CALL_RESULT),), False), wanted)
    if line.is_return:
        raise ObjectError(
            f"{wanted.text}: when a system call returns its arguments may be gone", f"its result is {_RESULT}"
        )
    names = [each.rpartition(" ")[2] for each in call.arguments]
    if wanted.name not in names:
        known = ", ".join(names) or "no arguments"
        raise ObjectError(f"{line.function} has no argument {wanted.name}", f"it has {known}")
    number = names.index(wanted.name)
    spelled = call.arguments[number].rpartition(" ")[0]
    kind = type_names.parse(spelled, lookup, user=True) or types.LONG
    return follow(Reached(kind, (FetchStep("register", registers.CALL_ARGUMENTS[number]),), False), wanted)
