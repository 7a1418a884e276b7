"""`$arg1`, `$arg2` and so on in probe lines: what a function is given, by the calling convention alone.

It takes no debug information. Numbers and pointers count, each in a register or, behind those, in 8 bytes of the stack;
what is given in vector registers or as a structure is not among them.
"""

from __future__ import annotations

import re

from sonde.arch import convention, registers
from sonde.model.spec import FetchStep
from sonde.model.types import ULONG
from sonde.objects.errors import ObjectError
from sonde.objects.lines import ProbeLine, WantedVariable
from sonde.objects.paths import FoundVariable, Reached, follow

_NAME = re.compile(r"\$arg(\d{1,3})")
_MOST = 127
"""More than any function has."""


def is_numbered(wanted: WantedVariable) -> bool:
    return _NAME.fullmatch(wanted.name) is not None


def numbered(line: ProbeLine, wanted: WantedVariable) -> FoundVariable:
    """An argument of the function that the line is at the entry of. Raises ObjectError."""
    found = _NAME.fullmatch(wanted.name)
    assert found is not None
    number = int(found[1])
    if not 1 <= number <= _MOST:
        raise ObjectError(f"{wanted.text}: arguments have the numbers 1 to {_MOST}", "the first one is $arg1")
    if line.is_return or line.offset or line.file:
        raise ObjectError(
            f"{wanted.text}: the calling convention tells of arguments at the entry of a function alone",
            "take the line of a function without an offset, or a variable by its name",
        )
    if wanted.parts:
        raise ObjectError(f"{wanted.text}: an argument by its number is a number, of no other type", "name it")
    return follow(_place(number), wanted)


def _place(number: int) -> Reached:
    behind = number - 1 - len(registers.ARGUMENTS)
    if behind < 0:
        return Reached(ULONG, (FetchStep("register", registers.ARGUMENTS[number - 1]),), False)
    offset = FetchStep("offset", convention.STACK_ARGUMENTS + 8 * behind)
    return Reached(ULONG, (FetchStep("register", registers.STACK_POINTER), offset), True)
