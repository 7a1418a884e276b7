"""What can be named and fetched at a point of an object: the entry of a function, or a line."""

from __future__ import annotations

from sonde.lang.types import size_of
from sonde.spec import Fetch
from sonde.symbols.dwarf.attributes import number, ranges_of
from sonde.symbols.dwarf.breakpoints import stops
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.fetching import fetches
from sonde.symbols.dwarf.information import DebugInformation
from sonde.symbols.dwarf.places import Places
from sonde.symbols.dwarf.scopes import Scope, Variable, all_scopes, nameable, scopes_at
from sonde.symbols.dwarf.types import Types
from sonde.typed import Any, NamedTuple


class Point(NamedTuple):
    """A link-time address in a function that is not inlined; `scopes` are those around it, that function's first.

    `what` is for people: the name of the function, or the line."""

    what: str
    address: int
    function: Any
    scopes: tuple[Scope, ...]


class Named(NamedTuple):
    """A variable at a point; `fetches` are made for an offset of 0, `reason` says why there are none."""

    variable: Variable
    fetches: tuple[Fetch, ...]
    reason: str


class Points:
    """Finds the points of one object."""

    def __init__(self, information: DebugInformation) -> None:
        self._information = information
        self._types = Types()
        self._places = Places(information)

    def at_function(self, name: str) -> tuple[Point, ...]:
        """Its entries, those of inlined copies too. Raises DebugInfoError if there is none."""
        found = []
        for each in self._information.functions(name):
            point = self._point(name, ranges_of(each)[0][0], each)
            # Nothing of a block or an inlined copy has begun, even if its code is the function's first.
            found.append(point._replace(scopes=point.scopes[:1]))
        copies = (self._copy(name, each) for each in self._information.inlined(name))
        found += [each for each in copies if each is not None]
        if not found:
            raise DebugInfoError(f"{self._information.path} has no function {name} that its debug information tells of")
        return tuple(found)

    def at_line(self, file: str, line: int) -> tuple[Point, ...]:
        """Every place where control reaches the line. Raises DebugInfoError if there is none."""
        return tuple(
            self._point(f"{each.file}:{each.line}", each.address, each.function)
            for each in stops(self._information, file, line)
            if each.function is not None
        )

    def named(self, point: Point) -> tuple[Named, ...]:
        """What can be named at a point."""
        return tuple(self._named(each, point) for each in nameable(point.scopes))

    def elsewhere(self, point: Point) -> tuple[Variable, ...]:
        """The other variables of a function, in blocks that are not around the point."""
        known = {each.entry.offset for each in nameable(point.scopes)}
        inner = next((each for each in reversed(point.scopes) if each.name), None)
        if inner is None:
            return ()
        return tuple(
            variable
            for scope in all_scopes(inner.entry, self._types)
            if not scope.is_inlined
            for variable in scope.variables
            if variable.name and variable.entry.offset not in known
        )

    def _point(self, what: str, address: int, function: Any) -> Point:
        return Point(what, address, function, scopes_at(function, address, self._types))

    def _copy(self, name: str, entry: Any) -> Point | None:
        """The point where an inlined copy begins."""
        starts = [start for start, _ in ranges_of(entry)]
        address = number(entry, "DW_AT_entry_pc")
        if address not in starts:
            address = next(iter(starts), None)
        if address is None or not self._information.is_code(address):
            return None
        function = self._information.function_at(address)
        if function is None:
            return None
        scopes = scopes_at(function, address, self._types)
        within = next((at for at, each in enumerate(scopes) if each.entry.offset == entry.offset), None)
        if within is None:
            return None
        what = f"{name} inlined"
        return Point(what, address, function, scopes[: within + 1])

    def _named(self, variable: Variable, point: Point) -> Named:
        try:
            pieces = self._places.of(variable, point.function, point.address)
            return Named(variable, fetches(pieces, size_of(variable.type)), "")
        except DebugInfoError as error:
            return Named(variable, (), str(error))


def live_ranges(variable: Variable) -> tuple[tuple[int, int], ...]:
    """The addresses where a variable is somewhere, neighbours put together."""
    if variable.constant is not None:
        return variable.ranges
    found: list[tuple[int, int]] = []
    for start, end in sorted((each.start, each.end) for each in variable.locations if each.expression):
        for low, high in variable.ranges:
            first, last = max(start, low), min(end, high)
            if first < last:
                if found and first <= found[-1][1]:
                    found[-1] = found[-1][0], max(last, found[-1][1])
                else:
                    found.append((first, last))
    return tuple(sorted(found))
