"""`vars OBJECT FUNCTION|FILE@LINE`: what can be named at a point of a program, and where each variable is live."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.cli.messages import FatalError, UsageError
from sonde.cli.output import show
from sonde.lang.types import name_of
from sonde.symbols.dwarf.errors import DebugInfoError, damaged
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.dwarf.points import Named, Point, Points, live_ranges
from sonde.symbols.dwarf.scopes import Variable
from sonde.symbols.dwarf.structure import structure
from sonde.symbols.elf import ElfError

_USAGE = "vars takes an object and a function or FILE@LINE, and the option --struct"
_MOST_RANGES = 4
_LONGEST = 60
"""Characters of a function's name, which templates make endless, where several are told in a line."""


def show_variables(words: Sequence[str]) -> int:
    """List the variables; with --struct the C structure they are fetched into. Returns 0."""
    operands = [each for each in words if each != "--struct"]
    if len(operands) != 2 or any(each.startswith("-") for each in operands):
        raise UsageError(_USAGE)
    path, place = operands
    file, at, line = place.rpartition("@")
    if at and not (file and line.isascii() and line.isdigit() and len(line) < 10):
        raise UsageError(_USAGE)
    try:
        with damaged(path, OSError, ElfError):
            points = Points(open_information(path))
            found = points.at_line(file, int(line)) if at else points.at_function(place)
            text = _text(points, found, place if "--struct" in words else "", with_others=not at)
    except OSError as error:
        raise FatalError(f"{path}: {error.strerror}") from None
    except (DebugInfoError, ElfError) as error:
        text = str(error)
        raise FatalError(text if path in text else f"{path}: {text}") from None
    show(text)
    return 0


def _text(points: Points, found: Sequence[Point], structure_of: str, with_others: bool) -> str:
    if structure_of:
        name = "".join(each if each.isascii() and each.isalnum() else "_" for each in structure_of)
        return "\n".join(_structure(points, each, f"variables_of_{name}") for each in found)
    return "\n".join(_listing(points, each, with_others) for each in found)


def _structure(points: Points, point: Point, name: str) -> str:
    layout = structure(points.named(point), name)
    return f"/* {_heading(point)}: {layout.size} bytes */\n{layout.text}"


def _heading(point: Point) -> str:
    names = [each.name for each in reversed(point.scopes) if each.name]
    around = " in ".join(each if len(each) <= _LONGEST else f"{each[:_LONGEST]}..." for each in names)
    return f"{point.what}, at {point.address:#x}" + (f" in {around}" if len(names) > 1 or ":" in point.what else "")


def _listing(points: Points, point: Point, with_others: bool) -> str:
    lines = [_heading(point)]
    start = point.scopes[0].ranges[0][0] if point.scopes[0].ranges else point.address
    named = points.named(point)
    lines += [_line(each, start) for each in sorted(named, key=lambda each: not each.variable.is_parameter)]
    if with_others:
        lines += [_other(each, start) for each in points.elsewhere(point)]
    if len(lines) == 1:
        lines.append("  nothing can be named here")
    return "".join(f"{line}\n" for line in map(_printable, lines))


def _line(named: Named, start: int) -> str:
    here = f"not fetched: {named.reason}" if named.reason else "here"
    return f"{_described(named.variable)}  {here}; {_live(named.variable, start)}"


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
    return "".join(each if each.isprintable() else "?" for each in text).rstrip()
