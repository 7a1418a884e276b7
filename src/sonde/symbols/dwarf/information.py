"""The debug information of an object, wherever its parts are: functions by name, and by address."""

from __future__ import annotations

import os
from bisect import bisect_right
from functools import cached_property

from sonde.symbols.debug_files import DIRECTORIES, find_debug_file, open_regular
from sonde.symbols.dwarf.aranges import AddressRange, read_aranges
from sonde.symbols.dwarf.attributes import number, ranges_of, text
from sonde.symbols.dwarf.compression import debug_sections
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.scan import TAG_SUBPROGRAM
from sonde.symbols.dwarf.source import Source
from sonde.symbols.dwarf.units import UT_SKELETON, Unit
from sonde.symbols.elf import ElfError, ElfFile
from sonde.typed import Any

_EXECUTABLE = 1
_LISTS_HEADER = 12
"""The size of the header before the offsets of a split unit's .debug_loclists and .debug_rnglists."""


class DebugInformation:
    """`elf` is the object itself: its segments and frames, which files with debug information have without content."""

    def __init__(self, path: str, elf: ElfFile, main: Source, directory: str = "", root: str = "") -> None:
        self.path = path
        self.elf = elf
        self.main = main
        self._directory = directory
        self._root = root
        self._split: dict[int, Source] = {}
        self._ranges: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}

    @property
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
        """The entries of all functions of that name that have code of their own (DIEs of pyelftools)."""
        found = []
        for source in self._sources():
            for offset in sorted(source.named(name)):
                entry = source.entry(offset)
                if entry.tag == "DW_TAG_subprogram" and self._has_code(entry):
                    found.append(entry)
        return found

    def inlined(self, name: str) -> list[Any]:
        """The entries of the copies of a function in others."""
        return [
            source.entry(offset)
            for source in self._sources()
            if (named := source.named(name))
            for offset in source.copies(named)
        ]

    def function_at(self, address: int) -> Any:
        """The function that has code at a link-time address; None if there is none known. Raises DebugInfoError."""
        for source, unit in self.units_at(address):
            for each in source.functions(unit):
                if each.has_code and each.tag == TAG_SUBPROGRAM:
                    starts = self._function_ranges(source, each.offset)
                    if any(start <= address < end for start, end in starts):
                        return source.entry(each.offset)
        return None

    def units_at(self, address: int) -> list[tuple[Source, Unit]]:
        """The units that may have code at an address, split ones in the place of their skeletons."""
        at = bisect_right(self._aranges, address, key=lambda each: each.start) - 1
        if at >= 0 and address < self._aranges[at].end:
            return self._content(self.main.unit_at(self._aranges[at].unit))
        return [
            each
            for unit in self.main.units
            if any(start <= address < end for start, end in self._unit_ranges(unit))
            for each in self._content(unit)
        ]

    @cached_property
    def _aranges(self) -> list[AddressRange]:
        return sorted(read_aranges(self.main.sections.get(".debug_aranges", b"")))

    def _sources(self) -> list[Source]:
        split = [source for unit in self.main.units if unit.kind == UT_SKELETON for source, _ in self._content(unit)]
        return [self.main, *split]

    def _content(self, unit: Unit) -> list[tuple[Source, Unit]]:
        if unit.kind != UT_SKELETON:
            return [(self.main, unit)]
        if unit.offset not in self._split:
            self._split[unit.offset] = self._open_split(unit)
        source = self._split[unit.offset]
        return [(source, each) for each in source.units]

    def _open_split(self, unit: Unit) -> Source:
        """The .dwo file of a skeleton. Raises DebugInfoError."""
        entry = self.main.first_entry(unit)
        name, directory = text(entry, "DW_AT_dwo_name"), text(entry, "DW_AT_comp_dir")
        places = [self._root + os.path.join(directory, name), os.path.join(self._directory, os.path.basename(name))]
        elf = next((found for place in places if (found := open_regular(place)) is not None), None)
        if elf is None:
            raise DebugInfoError(f"the debug information of {self.path} is in {name}, which is not at {places[0]}")
        bases = {
            "DW_AT_addr_base": number(entry, "DW_AT_addr_base") or 0,
            "DW_AT_low_pc": number(entry, "DW_AT_low_pc") or 0,
            "DW_AT_str_offsets_base": 8,
            "DW_AT_loclists_base": _LISTS_HEADER,
            "DW_AT_rnglists_base": _LISTS_HEADER,
        }
        sections = debug_sections(elf, lambda each: each.startswith(".debug_") and each.endswith(".dwo"))
        sections = {each.removesuffix(".dwo"): data for each, data in sections.items()}
        sections[".debug_addr"] = self.main.sections.get(".debug_addr", b"")
        source = Source(places[0], sections, self.main.shared, bases)
        if unit.dwo_id not in [each.dwo_id for each in source.units]:
            raise DebugInfoError(f"{places[0]} is not of the same build as {self.path}")
        return source

    def _has_code(self, entry: Any) -> bool:
        return any(self.is_code(start) for start, _ in ranges_of(entry))

    def _function_ranges(self, source: Source, offset: int) -> tuple[tuple[int, int], ...]:
        key = id(source), offset
        if key not in self._ranges:
            self._ranges[key] = ranges_of(source.entry(offset))
        return self._ranges[key]

    def _unit_ranges(self, unit: Unit) -> tuple[tuple[int, int], ...]:
        return self._function_ranges(self.main, self.main.first_entry(unit).offset)


def open_information(
    path: str, root: str = "", directories: tuple[str, ...] = DIRECTORIES, cache: str | None = None
) -> DebugInformation:
    """The debug information of the object at a path. Raises OSError, ElfError, or DebugInfoError if there is none.

    For `root`, `directories` and `cache` see debug_files.find_debug_file.
    """
    elf = ElfFile.open(path)
    elf.check()
    if elf.kind not in (2, 3):
        raise ElfError("neither an executable nor a library")
    found, tried = find_debug_file(path, elf, root, directories, cache)
    if found is None:
        raise DebugInfoError(_without(path, tried))
    shared = Source(found.shared_path, debug_sections(found.shared, _is_debug)) if found.shared else None
    main = Source(found.path, debug_sections(found.elf, _is_debug), shared)
    return DebugInformation(path, elf, main, os.path.dirname(os.path.realpath(found.path)), root)


def _is_debug(name: str) -> bool:
    return name.startswith(".debug_")


def _without(path: str, tried: tuple[str, ...]) -> str:
    """What to say where there is nothing, and what it would be good for."""
    looked = f" (looked for {', '.join(tried)})" if tried else ""
    return (
        f"{path} has no debug information{looked}: it would add the names, types and places of parameters and local "
        "variables, source lines, and inlined copies of functions; compile with -g, or install the package with its "
        "debug symbols"
    )
