"""What can be named and fetched at a point of an object: the entry of a function, or a line."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from sonde.model.location import Piece
from sonde.model.spec import Fetch
from sonde.model.types import VOID, Type, size_of
from sonde.symbols.dwarf.attributes import inherited, name_of, number, ranges_of, source_of, text
from sonde.symbols.dwarf.breakpoints import stops
from sonde.symbols.dwarf.definitions import Definitions, Elsewhere
from sonde.symbols.dwarf.entry_places import entry_place
from sonde.symbols.dwarf.entry_values import EntryValues
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.fetching import fetches
from sonde.symbols.dwarf.information import DebugInformation
from sonde.symbols.dwarf.places import Places
from sonde.symbols.dwarf.scopes import CodeScope, DebugVariable, all_scopes, global_variable, nameable, scopes_at
from sonde.symbols.dwarf.source_lines import is_file
from sonde.symbols.dwarf.types import Types
from sonde.typed import Any, NamedTuple


class CodePoint(NamedTuple):
    """A link-time address in a function that is not inlined; `scopes` are those around it, that function's first.

    `what` is for people: the name of the function, or the line. `is_line` tells that a line was asked for."""

    what: str
    address: int
    function: Any
    scopes: tuple[CodeScope, ...]
    is_line: bool = False

    @property
    def nameable(self) -> tuple[DebugVariable, ...]:
        """The variables that a name finds there (scopes.nameable)."""
        return nameable(self.scopes, self.address if self.is_line else None)


def is_first(point: CodePoint) -> bool:
    """Whether it is the function's first instruction."""
    return bool(point.scopes and point.scopes[0].ranges) and point.address == point.scopes[0].ranges[0][0]


class Named(NamedTuple):
    """A variable at a point; `fetches` are made for an offset of 0, `reason` says why there are none."""

    variable: DebugVariable
    fetches: tuple[Fetch, ...]
    reason: str


class Points:
    """Finds the points of one object."""

    def __init__(self, information: DebugInformation, elsewhere: Elsewhere = tuple, is_user: bool = True) -> None:
        """`elsewhere` gives the other objects of the process, where types may be defined; `is_user`: the object is of
        processes, not of the kernel."""
        self._information = information
        self._types = Types(Definitions(information, elsewhere).of, is_user)
        self._places = Places(information)
        self._entry_values = EntryValues(information, self._places)

    def at_function(self, name: str) -> tuple[CodePoint, ...]:
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

    def at_line(self, file: str, line: int) -> tuple[CodePoint, ...]:
        """Every place where control reaches the line. Raises DebugInfoError if there is none."""
        with self._information.costs:
            found = tuple(
                self._calling(self._point(f"{each.file}:{each.line}", each.address, each.function), file, line)
                for each in stops(self._information, file, line)
                if each.function is not None
            )
        if not found:
            raise DebugInfoError(f"{file}:{line} is in no function that {self._information.path} tells of")
        return found

    def at_address(self, address: int, is_entry: bool = False, line: tuple[str, int] | None = None) -> CodePoint | None:
        """The point of an instruction by its link-time address; None where no function with debug information has it.

        Where a function is entered (`is_entry`) nothing of a block or an inlined copy has begun; `line` is what was
        asked for, a file and a line of it. Raises DebugInfoError.
        """
        function = self._information.function_at(address)
        if function is None:
            return None
        point = self._point(name_of(function), address, function)
        if line is not None:
            return self._calling(point, *line)
        return point._replace(scopes=point.scopes[:1]) if is_entry else point

    def _calling(self, point: CodePoint, file: str, line: int) -> CodePoint:
        """The point without the inlined copies that begin there with a call on the line that was asked for: it is the
        caller's line, and the caller's names are meant."""
        point = point._replace(is_line=True)
        for depth, scope in enumerate(point.scopes):
            begins = scope.is_inlined and any(start == point.address for start, _ in scope.ranges)
            if begins and number(scope.entry, "DW_AT_call_line") == line and self._is_called_in(scope.entry, file):
                return point._replace(scopes=point.scopes[:depth])
        return point

    def _is_called_in(self, copy: Any, file: str) -> bool:
        """Whether a copy is called in a file; a split unit does not tell where the names of its files are."""
        source, main = source_of(copy), self._information.main
        index = number(copy, "DW_AT_call_file")
        if source is not main or index is None:
            return True
        head = source.head(source.unit_at(copy.offset))
        if head.statements is None:
            return True
        files = self._information.lines.table(source, head.statements, head.directory).files
        return index < len(files) and is_file(files[index], file)

    def globals_named(self, name: str) -> tuple[Named, ...]:
        """The global and static variables of a name, with `::` between it and what it is in, that have a place.

        More than one where files of the program have a static of that name each. Raises DebugInfoError.
        """
        return self._defined(name, self._information.variables(name))

    def globals_at(self, name: str, addresses: Collection[int]) -> tuple[Named, ...]:
        """Those of a name that may be at these link-time addresses, of which a symbol tells. Raises DebugInfoError."""
        return self._defined(name, self._information.variables_at(name, addresses))

    def _defined(self, name: str, entries: Sequence[Any]) -> tuple[Named, ...]:
        found: dict[object, Named] = {}
        for entry in entries:
            variable = global_variable(entry, self._types)
            if variable.locations or variable.constant is not None:
                point = CodePoint(name, 0, entry, ())
                known = variable.locations or variable.constant
                found.setdefault(known, self._named(variable, point))
        return tuple(found.values())

    @property
    def path(self) -> str:
        """That of the object."""
        return self._information.path

    def returned(self, point: CodePoint) -> Type:
        """The type of what the function returns."""
        owner = inherited(point.function, "DW_AT_type")
        return VOID if owner is None else self._types.of(owner)

    def lines(self, point: CodePoint, low: int, high: int) -> str:
        """Which lines the code from one link-time address up to another is of, `file.c:12-14`; "" if nothing tells."""
        unit = point.function.cu.get_top_DIE()
        offset = number(unit, "DW_AT_stmt_list")
        if offset is None:
            return ""
        table = self._information.lines.table(source_of(unit), offset, text(unit, "DW_AT_comp_dir"))
        rows = sorted(each for each in table.rows() if each.line)
        first = max((each.address for each in rows if each.address <= low), default=low)
        found = [each for each in rows if first <= each.address < high and not each.ends]
        if not found:
            return ""
        lines = [each.line for each in found if each.file == found[0].file]
        name = os.path.basename(table.files[found[0].file])
        return f"{name}:{min(lines)}" + (f"-{max(lines)}" if max(lines) > min(lines) else "")

    def pieces(self, variable: DebugVariable, point: CodePoint, is_clone: bool = False) -> tuple[Piece, ...]:
        """Where a variable is at a point; for `is_clone` see entry_place. Raises DebugInfoError."""
        pieces = self._places.of(variable, point.function, point.address)
        if not is_first(point):
            return pieces
        own = [each for each in point.scopes[0].variables if each.is_parameter]
        return entry_place(pieces, variable, own, self.returned(point), point.function, is_clone)

    def with_entry_values(self, pieces: tuple[Piece, ...], point: CodePoint) -> tuple[Piece, ...]:
        """The pieces with what the callers tell in the place of registers at the entry. Raises DebugInfoError."""
        return self._entry_values.put_in(pieces, point.function, point.address)

    def named(self, point: CodePoint) -> tuple[Named, ...]:
        """What can be named at a point."""
        return tuple(self._named(each, point) for each in point.nameable)

    def elsewhere(self, point: CodePoint) -> tuple[DebugVariable, ...]:
        """The other variables of a function, in blocks that are not around the point."""
        known = {each.entry.offset for each in point.nameable}
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

    def _point(self, what: str, address: int, function: Any) -> CodePoint:
        return CodePoint(what, address, function, scopes_at(function, address, self._types))

    def _copy(self, name: str, entry: Any) -> CodePoint | None:
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
        return CodePoint(what, address, function, scopes[: within + 1])

    def _named(self, variable: DebugVariable, point: CodePoint) -> Named:
        try:
            pieces = self.with_entry_values(self.pieces(variable, point), point)
            return Named(variable, fetches(pieces, size_of(variable.type)), "")
        except DebugInfoError as error:
            return Named(variable, (), str(error))


def live_ranges(variable: DebugVariable) -> tuple[tuple[int, int], ...]:
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
