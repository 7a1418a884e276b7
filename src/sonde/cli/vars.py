"""`vars OBJECT FUNCTION|FILE@LINE`: what can be named at a point of a program, and where each variable is live."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.cli.messages import FatalError, UsageError
from sonde.cli.output import show
from sonde.codegen.partial import lacks_part
from sonde.model.types import name_of
from sonde.providers.placement import Surroundings, is_program
from sonde.providers.user_variables import fetchable
from sonde.symbols.dwarf.errors import DebugInfoError, damaged
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.dwarf.points import Point, Points, live_ranges
from sonde.symbols.dwarf.scopes import Variable
from sonde.symbols.dwarf.structure import structure
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.visible import visible

_USAGE = "vars takes an object and a function or FILE@LINE, and the option --struct, with it variables"
_MOST_RANGES = 4
_LONGEST = 60
"""Characters of a function's name, which templates make endless, where several are told in a line."""


def show_variables(words: Sequence[str]) -> int:
    """List the variables; with --struct the C structure they are fetched into. Returns 0."""
    operands = [each for each in words if each != "--struct"]
    structure_wanted = "--struct" in words
    if len(operands) < 2 or any(each.startswith("-") for each in operands):
        raise UsageError(_USAGE)
    path, place, *variables = operands
    if variables and not structure_wanted:
        raise UsageError(_USAGE)
    if path == "kernel" or variables:
        from sonde.cli.declarations import declared  # what probe lines need

        show(declared(path, place, variables, structure_wanted))
        return 0
    file, at, line = place.rpartition("@")
    if at and not (file and line.isascii() and line.isdigit() and len(line) < 10):
        raise UsageError(_USAGE)
    try:
        with damaged(path, OSError, ElfError):
            information = open_information(path)
            points = Points(information)
            found = points.at_line(file, int(line)) if at else points.at_function(place)
            if structure_wanted:
                text = "\n".join(_structure(points, each, place) for each in found)
            else:
                text = "\n".join(_listing(points, information.elf, each, with_others=not at) for each in found)
    except OSError as error:
        raise FatalError(f"{path}: {error.strerror}") from None
    except (DebugInfoError, ElfError) as error:
        text = str(error)
        raise FatalError(text if path in text else f"{path}: {text}") from None
    show(text)
    return 0


def _structure(points: Points, point: Point, place: str) -> str:
    name = "".join(each if each.isascii() and each.isalnum() else "_" for each in place)
    layout = structure(points.named(point), f"variables_of_{name}")
    return f"/* {_heading(point)}: {layout.size} bytes */\n{layout.text}"


def _heading(point: Point) -> str:
    names = [each.name for each in reversed(point.scopes) if each.name]
    around = " in ".join(each if len(each) <= _LONGEST else f"{each[:_LONGEST]}..." for each in names)
    return f"{point.what}, at {point.address:#x}" + (f" in {around}" if len(names) > 1 or ":" in point.what else "")


def _listing(points: Points, file: ElfFile, point: Point, with_others: bool) -> str:
    lines = [_heading(point)]
    start = point.scopes[0].ranges[0][0] if point.scopes[0].ranges else point.address
    named = sorted(point.nameable, key=lambda each: not each.is_parameter)
    lines += [f"{_described(each)}  {_here(points, file, point, each)}; {_live(each, start)}" for each in named]
    if with_others:
        lines += [_other(each, start) for each in points.elsewhere(point)]
    if len(lines) == 1:
        lines.append("  nothing can be named here")
    return "".join(f"{line}\n" for line in map(_printable, lines))


def _here(points: Points, file: ElfFile, point: Point, variable: Variable) -> str:
    """Whether a D program can name the variable there, and if not why."""
    around = Surroundings(file, 0, point.address, is_program(file))
    try:
        found = fetchable(points, point, variable, around)
    except DebugInfoError as error:
        return f"not fetched: {error}"
    if found is None:
        return "not fetched: it is optimised out here"
    return "in parts here" if lacks_part(found, variable.type) else "here"


def _other(variable: Variable, start: int) -> str:
    return f"{_described(variable)}  {_live(variable, start)}"


def _described(variable: Variable) -> str:
    kind = "parameter" if variable.is_parameter else "variable"
    return f"  {kind:9}  {variable.name:12} {name_of(variable.type):20}"


def _live(variable: Variable, start: int) -> str:
    """Offsets from the function's first address, in hexadecimal."""
    ranges = live_ranges(variable)
    if not ranges:
        return "optimised out everywhere"
    if ranges == variable.ranges:
        return "live in all of its scope"
    shown = [f"{low - start:+#x} to {high - start:+#x}" for low, high in ranges[:_MOST_RANGES]]
    more = f" and {len(ranges) - _MOST_RANGES} more" if len(ranges) > _MOST_RANGES else ""
    return f"live at {', '.join(shown)}{more}"


def _printable(text: str) -> str:
    return visible(text).rstrip()
