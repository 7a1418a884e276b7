"""`vars --struct OBJECT|kernel PLACE VARIABLE ...`: the structure that a probe line's variables arrive in."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.cli.messages import FatalError
from sonde.model.types import name_of
from sonde.objects.arguments import structure_of
from sonde.objects.errors import ObjectError
from sonde.objects.kernel_variables import kernel_variables
from sonde.objects.lines import ProbeLine, read_lines, wanted
from sonde.objects.targets import Targets
from sonde.providers.kernel_types import KernelTypes

KERNEL = "kernel"


def declared(object_: str, place: str, words: Sequence[str], structure: bool) -> str:
    """The declaration, or, for the kernel, a list of the function's parameters. Raises FatalError."""
    try:
        line = _line("" if object_ == KERNEL else object_, place, words)
        if object_ != KERNEL:
            from sonde.objects.user_variables import user_line

            return "\n".join(
                dict.fromkeys(structure_of(_name(place), found) for _, found in user_line(line, Targets()))
            )
        described = KernelTypes().function(line.function)
        if described is None:
            raise ObjectError(f"the kernel's BTF has no function {line.function}")
        kind, names = described
        if not words:
            line = line._replace(variables=tuple(wanted(each) for each in names))
        if structure:
            return structure_of(_name(place), kernel_variables(line, lambda name, module: described))
        rows = zip(names, kind.parameters, strict=True)
        lines = [f"  parameter  {name:12} {name_of(type_)}" for name, type_ in rows]
        return "\n".join([f"{line.function}, which returns {name_of(kind.returns)}", *lines]) + "\n"
    except ObjectError as error:
        raise FatalError(error.text, hint=error.hint) from None


def _line(path: str, place: str, words: Sequence[str]) -> ProbeLine:
    before = f"exec={path}\n" if path else ""
    (found,) = read_lines(f"{before}func={place} {' '.join(words)}").values()
    return found


def _name(place: str) -> str:
    return "variables_of_" + "".join(each if each.isascii() and each.isalnum() else "_" for each in place)
