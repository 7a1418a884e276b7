"""Variables of processes at their probes: `args->NAME`, `locals->NAME` and `globals->NAME`, by debug information."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sonde.arch import classification
from sonde.model.catalog import Located
from sonde.model.errors import NO_SUCH_ARGUMENT, SourceError
from sonde.model.location import Piece, UnreadableError
from sonde.model.probe import Firing, Probe, Uprobe
from sonde.model.types import size_of
from sonde.providers.global_variables import Globals, Objects
from sonde.providers.placement import Surroundings, placed, surroundings
from sonde.providers.source_lines import source_line
from sonde.providers.unavailable import listed, not_there, unavailable, unknown, unlocated
from sonde.symbols.code_objects import CodeObjects
from sonde.symbols.dwarf.errors import DebugInfoError, damaged
from sonde.symbols.dwarf.expressions import UnsupportedError
from sonde.symbols.dwarf.information import DebugInformation
from sonde.symbols.dwarf.points import CodePoint, Points
from sonde.symbols.dwarf.scopes import DebugVariable
from sonde.symbols.elf.file import ElfError
from sonde.symbols.functions import CodeObject


class UserVariables:
    """Those of all processes; debug information is read for the functions whose variables are asked for."""

    def __init__(self, objects: CodeObjects | None = None) -> None:
        self._objects = objects
        self._globals = Globals(self._of)
        self._points: dict[int, tuple[CodeObject, Points]] = {}
        self._known: dict[tuple[int, int, bool, tuple[str, int] | None], CodePoint | None] = {}

    def find(self, probe: Probe, home: CodeObject, address: int, scope: str, name: str | int) -> Located:
        """A variable at a probe, which is at an address, as linked, of an object. Raises SourceError."""
        asked = f"{scope}->{name}" if isinstance(name, str) else f"{scope}[{name}]"
        assert isinstance(probe.firing, Uprobe)
        kind, around = probe.firing.kind, surroundings(probe.firing, home, address)
        try:
            with damaged(home.path, OSError, ElfError, SourceError):
                if scope == "symbols":
                    return self._globals.symbol(probe, home, around, str(name), lambda: self._mapped(probe.firing))
                points = self._of(home, lambda: self._mapped(probe.firing))
                point = self._point(home, address, probe, points)
                if scope == "globals":
                    return self._globals.find(probe, point, home, around, str(name), lambda: self._mapped(probe.firing))
                if kind == "return":
                    return result_at(points, point, probe, name, asked)
                return located_at(points, point, probe, around, scope, name)
        except (OSError, ElfError, DebugInfoError, UnsupportedError) as error:
            raise unlocated(f"{asked} at {probe}", error) from None

    def _mapped(self, firing: Firing) -> Sequence[CodeObject]:
        """What the probe's process has mapped."""
        assert isinstance(firing, Uprobe)
        return self._objects.of(firing.pid) if self._objects and firing.pid else ()

    def _of(self, home: CodeObject, mapped: Objects) -> Points:
        if id(home) not in self._points:
            self._points[id(home)] = home, Points(home.information, lambda: _with_information(mapped()))
        return self._points[id(home)][1]

    def _point(self, home: CodeObject, address: int, probe: Probe, points: Points) -> CodePoint:
        """Raises DebugInfoError for an address in no function that is known."""
        assert isinstance(probe.firing, Uprobe)
        is_entry, where = probe.firing.kind == "entry", source_line(probe.function)
        line = (where.file, where.line) if where is not None else None
        key = id(home), address, is_entry, line
        if key not in self._known:
            self._known[key] = points.at_address(address, is_entry, line)
        found = self._known[key]
        if found is None:
            raise DebugInfoError("that of the object does not tell of this function: was it compiled with -g?")
        return found


def _with_information(objects: Sequence[CodeObject]) -> Iterator[DebugInformation]:
    """That of the objects that have some."""
    for each in objects:
        try:
            yield each.information
        except (OSError, ElfError, DebugInfoError):
            continue


def located_at(
    points: Points, point: CodePoint, probe: Probe, around: Surroundings, scope: str, name: str | int
) -> Located:
    """A parameter or variable of the function that a point is in. Raises SourceError, UnsupportedError or
    DebugInfoError."""
    there = [each for each in point.nameable if each.is_parameter or scope == "locals"]
    if isinstance(name, int):
        there = _parameters(point)
        if not 0 <= name < len(there):
            text = f"{probe} has no argument {name}"
            raise SourceError(NO_SUCH_ARGUMENT, text, hint=listed(there), about=(name, probe))
        variable = there[name]
    else:
        found = next((each for each in there if each.name == name), None)
        if found is None:
            raise unknown(f"{scope}->{name}", probe, points, point, there)
        variable = found
    fetched = fetchable(points, point, variable, around, "." in probe.function)
    if fetched is None:
        raise not_there(f"{scope}->{variable.name}", variable, probe, points, point)
    return Located(variable.type, fetched, name=variable.name)


def fetchable(
    points: Points, point: CodePoint, variable: DebugVariable, around: Surroundings, is_clone: bool = False
) -> tuple[Piece, ...] | None:
    """The pieces of a variable at a point as a program can fetch them, None if it is optimised out there.

    `is_clone`: the compiler has made the function of another one, and may call it as it likes. Raises UnsupportedError
    for what is there but cannot be fetched, or DebugInfoError.
    """
    pieces = points.pieces(variable, point, is_clone)
    return placed(points.with_entry_values(pieces, point), around, size_of(variable.type))


def _parameters(point: CodePoint) -> list[DebugVariable]:
    """Those of the function, or of the inlined copy, that the point is in, in order."""
    inner = next(each for each in reversed(point.scopes) if each.name)
    return [each for each in inner.variables if each.is_parameter]


def result_at(points: Points, point: CodePoint, probe: Probe, name: str | int, asked: str) -> Located:
    if name == 1:
        kind = points.returned(point)
        try:
            return Located(kind, classification.result(kind))
        except UnreadableError as error:
            raise UnsupportedError(str(error)) from None
    hint = "args[1] is what it returns; the kernel does not tell by which instruction"
    if isinstance(name, str):
        hint = f"save it at the entry, self->{name} = args->{name}, and use self->{name} here"
    raise unavailable(f"{asked} at {probe}", "a function's variables are gone when it has returned", hint)
