"""The variables of a program at a point of its source."""

from __future__ import annotations

from sonde.codegen.partial import lacks_part
from sonde.library.errors import Error
from sonde.model.types import name_of
from sonde.providers.placement import Surroundings, is_program
from sonde.providers.user_variables import fetchable
from sonde.symbols.dwarf.errors import DebugInfoError, damaged
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.dwarf.points import Points
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.typed import Any, NamedTuple


class Variable(NamedTuple):
    """`function` is where it is, `address` the link-time address of the point. `state` is "here", "in parts" or
    "not here", with the `reason`."""

    name: str
    type: str
    is_parameter: bool
    function: str
    address: int
    state: str
    reason: str


def variables(path: str, place: str) -> tuple[Variable, ...]:
    """Those that a name finds at a function's entry, or at FILE@LINE, in an object with debug information: one for each
    place where the compiler has put that. Raises Error."""
    file, at, line = place.rpartition("@")
    if at and not (file and line.isascii() and line.isdigit() and len(line) < 10):
        raise Error(f"{place!r} is no function and no FILE@LINE")
    try:
        with damaged(path, OSError, ElfError):
            information = open_information(path)
            points = Points(information)
            found = points.at_line(file, int(line)) if at else points.at_function(place)
            return tuple(_variable(points, information.elf, point, each) for point in found for each in point.nameable)
    except OSError as error:
        raise Error(f"{path}: {error.strerror}") from None
    except (DebugInfoError, ElfError) as error:
        raise Error(str(error) if path in str(error) else f"{path}: {error}") from None


def _variable(points: Points, file: ElfFile, point: Any, variable: Any) -> Variable:
    state, reason = "here", ""
    try:
        found = fetchable(points, point, variable, Surroundings(file, 0, point.address, is_program(file)))
    except DebugInfoError as error:
        state, reason = "not here", str(error)
    else:
        if found is None:
            state, reason = "not here", "it is optimised out here"
        elif lacks_part(found, variable.type):
            state = "in parts"
    called = point.scopes[0].name or point.what
    return Variable(variable.name, name_of(variable.type), variable.is_parameter, called, point.address, state, reason)
