"""The debug information of an object, wherever its parts are: functions by name, and by address."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property

from sonde import others
from sonde.symbols.dwarf.aranges import told_ranges
from sonde.symbols.dwarf.attributes import ranges_of
from sonde.symbols.dwarf.compression import debug_sections
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.gdb_index import SECTION as GDB_INDEX
from sonde.symbols.dwarf.gdb_index import indexed_ranges
from sonde.symbols.dwarf.names import copies, functions_named, variables_at, variables_named
from sonde.symbols.dwarf.relocated import relocated
from sonde.symbols.dwarf.source import EntrySource
from sonde.symbols.dwarf.source_lines import SourceLines
from sonde.symbols.dwarf.split import SplitUnits, is_skeleton
from sonde.symbols.dwarf.unit_addresses import Range, UnitAddresses
from sonde.symbols.dwarf.units import DebugUnit
from sonde.symbols.elf.costs import SPEED, Costs
from sonde.symbols.elf.debug_files import DIRECTORIES, find_debug_file, has_debug_information
from sonde.symbols.elf.file import ET_DYN, ET_EXEC, ET_REL, ElfError, ElfFile
from sonde.typed import Any

_EXECUTABLE = 1
_FEW = 1 << 10
_MOST_RANGES = 1 << 20
"""Of all units: about 150 bytes each."""

_WORTH = 0.25
"""Seconds of reading that a question may take beside what preparing for all takes."""


class DebugInformation:
    """`elf` is the object itself: its segments and frames, which files with debug information have without content;
    `files` are those, which may be the object."""

    def __init__(
        self, path: str, elf: ElfFile, main: EntrySource, split: SplitUnits, files: tuple[ElfFile, ...]
    ) -> None:
        self.path = path
        self.elf = elf
        self.main = main
        self.costs = elf.costs
        self.files = files
        self._split = split
        self._content_of: dict[int, EntrySource | None] = {}
        self._missing: list[str] = []
        self.lines = SourceLines(main)
        self._told = UnitAddresses(self._told_ranges)
        self._found = UnitAddresses(self._unit_ranges)

    @cached_property
    def executable(self) -> tuple[tuple[int, int], ...]:
        """The link-time addresses of code."""
        code = [each for each in self.elf.segments if each.flags & _EXECUTABLE]
        return tuple((each.address, each.address + each.memory_size) for each in code)

    def is_code(self, address: int) -> bool:
        """Whether code is there: what the linker has left out keeps its entries, at addresses as low as 0."""
        return any(start <= address < end for start, end in self.executable)

    def code(self, address: int, size: int) -> bytes:
        """The bytes of code at a link-time address, as many of them as there are."""
        offset = self.elf.offset_of(address)
        return self.elf.read(offset, size) if offset is not None else b""

    def functions(self, name: str) -> list[Any]:
        """The entries of all functions of that name that have code of their own (DIEs of pyelftools).

        For the forms of names see names.functions_named. Raises DebugInfoError.
        """
        self.costs.allow(_WORTH)
        with self.costs:
            found = [
                entry
                for source in self._sources()
                for offset in sorted(functions_named(source, name))
                if (entry := source.entry(offset)).tag == "DW_TAG_subprogram"
                and any(self.is_code(start) for start, _ in ranges_of(entry))
            ]
        if not found:
            self._refuse_missing()
        return found

    def inlined(self, name: str) -> list[Any]:
        """The entries of the copies of a function in others."""
        with self.costs:
            return [
                source.entry(offset)
                for source in self._sources()
                if (named := functions_named(source, name))
                for offset in copies(source, named)
            ]

    def variables(self, name: str) -> list[Any]:
        """The entries of global and static variables of that name, and of their declarations."""
        with self.costs:
            return [
                source.entry(offset) for source in self._sources() for offset in sorted(variables_named(source, name))
            ]

    def variables_at(self, name: str, addresses: Collection[int]) -> list[Any]:
        """The entries of those that may be at these link-time addresses, of which a symbol tells: of a large object, in
        which most units declare what few define, that is a fraction of the work."""
        with self.costs:
            return [
                source.entry(offset)
                for source in self._sources()
                for offset in sorted(variables_at(source, name, addresses))
            ]

    def _refuse_missing(self) -> None:
        """What is not found may be in a part that could not be read. Raises DebugInfoError."""
        if self._missing:
            raise DebugInfoError(self._missing[0])

    def function_at(self, address: int, likely: DebugUnit | None = None) -> Any:
        """The function that has code at a link-time address; None if there is none known. Raises DebugInfoError.

        `likely` is a unit that is looked at first.
        """
        self.costs.allow(_WORTH)
        with self.costs:
            found = self._function_at(address, likely)
        if found is None:
            self._refuse_missing()
        return found

    def position_of(self, address: int) -> tuple[str, int] | None:
        """The source file and line of a link-time address; None if they are not known. Raises DebugInfoError."""
        self.costs.allow(_WORTH)
        with self.costs:
            for unit in self._offsets_at(address):
                found = self.lines.at(self.main.unit_at(unit), address)
                if found is not None:
                    return found
        return None

    def _offsets_at(self, address: int) -> Iterator[int]:
        """The places of units of the main file that may have code at an address, the likely ones first."""
        told = self._told.units(address)
        if not told:
            # Compilers that write no such section name the addresses of functions one by one.
            yield from (each.offset for each in self.main.units_naming(address))
        yield from told or self._found.units(address)

    def _function_at(self, address: int, likely: DebugUnit | None) -> Any:
        for source, unit in self._content(likely) if likely is not None else ():
            found = source.function_at(unit, address)
            if found is not None:
                return found
        for source, unit in self._units_at(address):
            found = source.function_at(unit, address)
            if found is not None:
                return found
        return None

    def _units_at(self, address: int) -> Iterator[tuple[EntrySource, DebugUnit]]:
        """The units that may have code at an address, the likely ones first, split ones in the place of their
        skeletons. Who has found what was looked for asks for no more of them."""
        return (each for unit in self._offsets_at(address) for each in self._content(self.main.unit_at(unit)))

    def _told_ranges(self) -> Iterator[Range]:
        """What indexes tell; what is in none of them is looked for in the units."""
        yield from self._counted(told_ranges(self.main.sections.get(".debug_aranges", b"")))
        yield from self._counted(indexed_ranges(self.main.sections.get(GDB_INDEX, b"")))

    def _counted(self, ranges: Iterable[Range]) -> Iterator[Range]:
        """Raises CostError."""
        for number, each in enumerate(ranges):
            if not number % _FEW:
                self.costs.check()
                if number > _MOST_RANGES:
                    self.costs.refuse(f"it has more than {_MOST_RANGES:,} ranges of addresses")
            yield each

    def _unit_ranges(self) -> Iterator[Range]:
        for unit in self.main.units:
            self.costs.check()
            for start, end in self.main.code_ranges(unit, self.main.head(unit).attributes):
                yield start, end, unit.offset

    def _sources(self) -> list[EntrySource]:
        split = (source for unit in self.main.units for source, _ in self._content(unit))
        return list(dict.fromkeys((self.main, *split)))

    def sources(self) -> list[EntrySource]:
        """All that may have types: the object's own file, what its skeletons stand for, units of types, and the file
        that dwz made for several objects."""
        found = self._sources()
        kinds = [each for source in found for each in source.type_units]
        return [*found, *kinds, *([self.main.shared] if self.main.shared else [])]

    def _content(self, unit: DebugUnit) -> list[tuple[EntrySource, DebugUnit]]:
        """A unit, or what a skeleton stands for: nothing if that is missing."""
        if not is_skeleton(self.main, unit):
            return [(self.main, unit)]
        if unit.offset not in self._content_of:
            self._content_of[unit.offset] = self._split_source(unit)
        source = self._content_of[unit.offset]
        return [(source, each) for each in source.units] if source is not None else []

    def _split_source(self, unit: DebugUnit) -> EntrySource | None:
        try:
            return self._split.source(unit)
        except DebugInfoError as error:
            self._missing.append(str(error))
            return None


def open_information(
    path: str,
    root: str = "",
    debug_directories: tuple[str, ...] = DIRECTORIES,
    cache: str | None = None,
    costs: Costs | None = None,
) -> DebugInformation:
    """The debug information of the object at a path. Raises OSError, ElfError, or DebugInfoError if there is none.

    For `root`, `debug_directories` and `cache` see debug_files.find_debug_file; `costs` are those of the object, which
    are its own if they are not given.
    """
    made = costs or Costs()
    with made:
        found = _opened(path, root, debug_directories, cache, made)
    if costs is None:
        # Whoever has named the object waits longer for a large one; holes in the file do not make it large.
        for each in found.files:
            made.allow(each.on_disk / SPEED)
    return found


def _opened(
    path: str, root: str, debug_directories: tuple[str, ...], cache: str | None, costs: Costs
) -> DebugInformation:
    elf = ElfFile.open(path, costs)
    elf.check()
    if elf.kind == ET_REL:
        return linked_information(path, relocated(elf))
    if elf.kind not in (ET_EXEC, ET_DYN):
        raise ElfError("neither an executable nor a library")
    found, tried = find_debug_file(path, elf, root, debug_directories, cache)
    if found is None:
        raise DebugInfoError(_without(path, tried))
    shared = (
        EntrySource(found.shared_path, debug_sections(found.shared, _is_debug), costs=costs) if found.shared else None
    )
    main = EntrySource(found.path, debug_sections(found.elf, _is_debug), shared, costs=costs)
    # A symbolic link of another root directory leads elsewhere in ours.
    places = [path, found.path] if root else [path, others.real_path(path), others.real_path(found.path)]
    packages = tuple(dict.fromkeys(f"{each}.dwp" for each in places))
    directories = tuple(dict.fromkeys(os.path.dirname(each) for each in reversed(places)))
    files = (found.elf, *([found.shared] if found.shared else ()))
    return DebugInformation(path, elf, main, SplitUnits(main, directories, root, packages), files)


def linked_information(path: str, elf: ElfFile) -> DebugInformation:
    """That of a relocatable file, which is given as if it were linked: its own. Raises DebugInfoError."""
    if not has_debug_information(elf):
        raise DebugInfoError(_without(path, ()))
    main = EntrySource(path, debug_sections(elf, _is_debug), costs=elf.costs)
    return DebugInformation(path, elf, main, SplitUnits(main, (os.path.dirname(path),), "", ()), (elf,))


def _is_debug(name: str) -> bool:
    return name.startswith(".debug_") or name == GDB_INDEX


def _without(path: str, tried: tuple[str, ...]) -> str:
    """What to say where there is nothing, and what it would be good for."""
    looked = f" (looked for {', '.join(tried)})" if tried else ""
    return (
        f"{path} has no debug information{looked}: it would add the names, types and places of parameters and local "
        "variables, source lines, and inlined copies of functions; compile with -g, or install the package with its "
        "debug symbols"
    )
