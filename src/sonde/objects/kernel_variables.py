"""Variables of a probe line at a function of the kernel: its parameters, by the names and types of the kernel's BTF.

Where they are follows from the calling convention. All else is a matter of debug information (`kernel_lines.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.arch import convention, registers
from sonde.model.spec import FetchStep
from sonde.model.types import Function, Struct, name_of, resolve
from sonde.objects.errors import ObjectError
from sonde.objects.lines import ProbeLine, WantedVariable
from sonde.objects.paths import FoundVariable, Reached, follow

RESULT = "$retval"

Describe = Callable[[str, str | None], tuple[Function, tuple[str, ...]] | None]
"""A function of the kernel by its name and module: its type and the names of its parameters."""


def kernel_variables(line: ProbeLine, describe: Describe) -> tuple[FoundVariable, ...]:
    """Raises ObjectError."""
    if not line.variables:
        return ()
    described = describe(line.function, line.module or None)
    if described is None:
        raise ObjectError(f"{line.text!r}: the kernel's BTF has no function {line.function}")
    return tuple(kernel_variable(line, each, *described) for each in line.variables)


def kernel_variable(line: ProbeLine, wanted: WantedVariable, kind: Function, names: tuple[str, ...]) -> FoundVariable:
    """A parameter at a function's entry, or `$retval`, of a function of that type. Raises ObjectError."""
    if wanted.name == RESULT:
        if not line.is_return:
            raise ObjectError(f"{RESULT} is there when a function returns", f"write {line.function}%return")
        return follow(Reached(kind.returns, (FetchStep("register", registers.RESULTS[0]),), False), wanted)
    if line.is_return or line.offset:
        where = "when a function returns" if line.is_return else "within a function"
        raise ObjectError(
            f"{wanted.text}: {where} its parameters may be gone", "without debug information only its entry has them"
        )
    if wanted.name not in names:
        known = ", ".join(names) or "no parameters"
        raise ObjectError(f"{line.function} of the kernel has no parameter {wanted.name}", f"it has {known}")
    number = names.index(wanted.name)
    place = convention.parameters(kind.parameters)[number]
    type_ = kind.parameters[number]
    if not place.registers:
        steps = (
            FetchStep("register", registers.STACK_POINTER),
            FetchStep("offset", convention.STACK_ARGUMENTS + place.stack),
        )
        return follow(Reached(type_, steps, True), wanted)
    if isinstance(resolve(type_), Struct):
        raise ObjectError(f"{wanted.text}: {name_of(type_)} is passed by value, in registers, which cannot be fetched")
    return follow(Reached(type_, (FetchStep("register", place.registers[0]),), False), wanted)
