"""`vars OBJECT FUNCTION|FILE@LINE`: what can be named at a point of a program, and where each variable is live."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sonde.cli.messages import UsageError
from sonde.cli.output import show
from sonde.library import TYPE_CHECKING, visible
from sonde.library.errors import Error
from sonde.library.inspection import declarations, kernel_points, structures
from sonde.library.inspection.variables import ELSEWHERE, IN_PARTS, NOT_HERE, Point, Variable, line_of, points

if TYPE_CHECKING:
    from sonde.library.inspection.structures import Structure

_USAGE = (
    "vars takes an object, or `kernel`, and a function or FILE@LINE, and the options --struct, with it variables, and, "
    "of the kernel, -k VMLINUX"
)
_KERNEL = "kernel"
_FUNCTION = re.compile(r"[\w.]+")
_MOST_RANGES = 4
_LONGEST = 60
"""Characters of a function's name, which templates make endless, where several are told in a line."""


def show_variables(words: Sequence[str]) -> int:
    """List the variables; with --struct the C structure they are fetched into. Returns 0."""
    words, vmlinux = _without_file(words)
    operands = [each for each in words if each != "--struct"]
    structure_wanted = "--struct" in words
    if len(operands) < 2 or any(each.startswith("-") for each in operands):
        raise UsageError(_USAGE)
    path, place, *variables = operands
    if variables and not structure_wanted:
        raise UsageError(_USAGE)
    if not variables and path != _KERNEL:
        _require_place(place)
    if vmlinux and path != _KERNEL:
        raise UsageError(_USAGE)
    show(_told(path, place, variables, structure_wanted, vmlinux))
    return 0


def _without_file(words: Sequence[str]) -> tuple[Sequence[str], str]:
    """The words without -k, and what it gives. Raises UsageError."""
    for at, word in enumerate(words):
        if word in ("-k", "--btf"):
            if at + 1 == len(words):
                raise UsageError(_USAGE)
            return [*words[:at], *words[at + 2 :]], words[at + 1]
    return words, ""


def _told(path: str, place: str, variables: Sequence[str], structure_wanted: bool, vmlinux: str) -> str:
    if path == _KERNEL and not structure_wanted:
        return _of_kernel(place, vmlinux)
    if path == _KERNEL or variables:
        return "\n".join(declarations.declarations(path, place, variables, vmlinux))
    if structure_wanted:
        return "\n".join(map(_structure, structures.structures(path, place)))
    return "\n".join(map(_listing, points(path, place)))


def _require_place(place: str) -> None:
    try:
        line_of(place)
    except Error:
        raise UsageError(_USAGE) from None


def _of_kernel(place: str, vmlinux: str) -> str:
    """By debug information, or what the kernel's BTF has of a function."""
    try:
        return "\n".join(map(_listing, kernel_points.kernel_points(place, vmlinux)))
    except Error:
        if vmlinux or not _FUNCTION.fullmatch(place):
            raise

    found = declarations.kernel_function(place)
    lines = [f"  parameter  {each:12} {kind}" for each, kind in found.parameters]
    return "\n".join([f"{found.name}, which returns {found.returns}", *lines]) + "\n"


def _structure(found: Structure) -> str:
    return f"/* {_heading(found)}: {found.size} bytes */\n{found.declaration}"


def _heading(point: Point | Structure) -> str:
    names = [each if len(each) <= _LONGEST else f"{each[:_LONGEST]}..." for each in point.functions]
    around = f" in {' in '.join(names)}" if len(names) > 1 or ":" in point.what else ""
    return f"{point.what}, at {point.address:#x}{around}"


def _listing(point: Point) -> str:
    named = sorted(point.variables, key=lambda each: not each.is_parameter)
    lines = [_heading(point), *(_described(each, point.start) for each in (*named, *point.others))]
    if len(lines) == 1:
        lines.append("  nothing can be named here")
    return "".join(f"{visible(line).rstrip()}\n" for line in lines)


def _described(variable: Variable, start: int) -> str:
    kind = "parameter" if variable.is_parameter else "variable"
    here = "" if variable.state == ELSEWHERE else f"{_here(variable)}; "
    return f"  {kind:9}  {variable.name:12} {variable.type:20}  {here}{_live(variable, start)}"


def _here(variable: Variable) -> str:
    """Whether a D program can name the variable there, and if not why."""
    if variable.state == NOT_HERE:
        return f"not fetched: {variable.reason}"
    return "in parts here" if variable.state == IN_PARTS else "here"


def _live(variable: Variable, start: int) -> str:
    """Offsets from the function's first address, in hexadecimal."""
    if not variable.live:
        return "optimised out everywhere"
    if variable.live == variable.scope:
        return "live in all of its scope"
    shown = [f"{low - start:+#x} to {high - start:+#x}" for low, high in variable.live[:_MOST_RANGES]]
    more = f" and {len(variable.live) - _MOST_RANGES} more" if len(variable.live) > _MOST_RANGES else ""
    return f"live at {', '.join(shown)}{more}"
