"""The variables of a program at a point of its source: which there are, where they live, which can be fetched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sonde.codegen.partial import lacks_part
from sonde.library.errors import Error
from sonde.model.types import name_of
from sonde.providers.placement import Surroundings, is_program
from sonde.providers.user_variables import fetchable
from sonde.symbols.dwarf import points as debug_information
from sonde.symbols.dwarf import scopes
from sonde.symbols.dwarf.errors import DebugInfoError, damaged
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.dwarf.points import Points, live_ranges
from sonde.symbols.elf.file import ElfError
from sonde.typed import NamedTuple

HERE, IN_PARTS, NOT_HERE, ELSEWHERE = "here", "in parts", "not here", "elsewhere"

_LONGEST_NUMBER = 9
"""Digits of a line."""


class Variable(NamedTuple):
    """A parameter or variable of `function`, at the point with the link-time `address`.

    `state` tells whether a probe there can fetch it: "here", "in parts", "not here", for the `reason`; "elsewhere" is a
    variable of a block that is not around the point. It is `live`, has a value somewhere, in these ranges of link-time
    addresses, of all in which the source can name it, its `scope`; the ends are not in the ranges.
    """

    name: str
    type: str
    is_parameter: bool
    function: str
    address: int
    state: str
    reason: str
    live: tuple[tuple[int, int], ...]
    scope: tuple[tuple[int, int], ...]


class Point(NamedTuple):
    """A place where the compiler has put a function's entry or the code of a line, `what`: its link-time address,
    and that of the function's first instruction, `start`.

    `functions` are those around it, the innermost first: of inlined copies, then the one that they are in. `variables`
    are those that a name finds there, `others` those of blocks that are not around a function's entry.
    """

    what: str
    address: int
    start: int
    functions: tuple[str, ...]
    variables: tuple[Variable, ...]
    others: tuple[Variable, ...]


def variables(path: str, place: str) -> tuple[Variable, ...]:
    """Those that a name finds at a function's entry, or at FILE@LINE, in an object with debug information: one for each
    place where the compiler has put that. Raises Error."""
    return tuple(each for point in points(path, place) for each in point.variables)


def points(path: str, place: str) -> tuple[Point, ...]:
    """The places where the compiler has put a function's entry, or FILE@LINE, with the variables at each. Raises
    Error."""
    line = line_of(place)
    with errors_of(path):
        information = open_information(path)
        found = Points(information)
        file = information.elf
        program = is_program(file)
        return tuple(
            point_of(found, each, line is None, Surroundings(file, 0, each.address, program))
            for each in points_at(found, place)
        )


def line_of(place: str) -> tuple[str, int] | None:
    """The file and line that FILE@LINE names, None for a function. Raises Error for what is neither."""
    file, at, line = place.rpartition("@")
    if not at:
        return None
    if not (file and line.isascii() and line.isdigit() and len(line) <= _LONGEST_NUMBER):
        raise Error(f"{place!r} is no function and no FILE@LINE")
    return file, int(line)


def points_at(points: Points, place: str) -> tuple[debug_information.CodePoint, ...]:
    """Raises DebugInfoError where there are none, Error for a place that makes no sense."""
    line = line_of(place)
    return points.at_function(place) if line is None else points.at_line(*line)


def functions_around(point: debug_information.CodePoint) -> tuple[str, ...]:
    """As `Point.functions`."""
    return tuple(each.name for each in reversed(point.scopes) if each.name)


@contextmanager
def errors_of(path: str) -> Iterator[None]:
    """What is wrong with an object, as the library's Error."""
    try:
        with damaged(path, OSError, ElfError, Error):
            yield
    except OSError as error:
        raise Error(f"{path}: {error.strerror}") from None
    except (DebugInfoError, ElfError) as error:
        raise Error(str(error) if path in str(error) else f"{path}: {error}") from None


def point_of(points: Points, point: debug_information.CodePoint, with_others: bool, around: Surroundings) -> Point:
    """What is told of a point, whose surroundings say what a probe there may fetch. Raises DebugInfoError."""
    start = point.scopes[0].ranges[0][0] if point.scopes[0].ranges else point.address
    named = tuple(_variable(point, each, *_state(points, point, each, around)) for each in point.nameable)
    others = points.elsewhere(point) if with_others else ()
    return Point(
        point.what, point.address, start, functions_around(point), named,
        tuple(_variable(point, each, ELSEWHERE, "") for each in others),
    )  # fmt: skip


def _variable(point: debug_information.CodePoint, variable: scopes.DebugVariable, state: str, reason: str) -> Variable:
    called = point.scopes[0].name or point.what
    kind = name_of(variable.type)
    ranges = live_ranges(variable), variable.ranges
    return Variable(variable.name, kind, variable.is_parameter, called, point.address, state, reason, *ranges)


def _state(
    points: Points, point: debug_information.CodePoint, variable: scopes.DebugVariable, around: Surroundings
) -> tuple[str, str]:
    """Whether a D program can name the variable there, and if not why."""
    try:
        found = fetchable(points, point, variable, around)
    except DebugInfoError as error:
        return NOT_HERE, str(error)
    if found is None:
        return NOT_HERE, "it is optimised out here"
    return (IN_PARTS if lacks_part(found, variable.type) else HERE), ""
