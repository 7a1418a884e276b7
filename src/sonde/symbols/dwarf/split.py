"""Units whose content is in files of their own: .dwo files, and .dwp packages of many (DWARF 5, section 7.3.5).

Packages exist in the form of GNU too (index of version 2, with units of DWARF 4).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from sonde.symbols.dwarf.compression import debug_sections
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.source import EntrySource
from sonde.symbols.dwarf.units import UT_SKELETON, DebugUnit
from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.debug_files import open_regular
from sonde.symbols.elf.file_bytes import Part

_LISTS_HEADERS = {4: 12, 8: 20}
"""The size of the header before the offsets of a split unit's .debug_loclists and .debug_rnglists."""
_OF_MAIN = (".debug_addr", ".debug_ranges")
_SECTIONS = {
    2: {1: ".debug_info", 2: ".debug_types", 3: ".debug_abbrev", 4: ".debug_line", 5: ".debug_loc",
        6: ".debug_str_offsets"},
    5: {1: ".debug_info", 3: ".debug_abbrev", 4: ".debug_line", 5: ".debug_loclists", 6: ".debug_str_offsets",
        8: ".debug_rnglists"},
}  # fmt: skip
_UNITS, _TYPES = ".debug_cu_index", ".debug_tu_index"
_MOST_COLUMNS = 16


def is_skeleton(main: EntrySource, unit: DebugUnit) -> bool:
    """Whether a unit only says where its content is."""
    if unit.sizes.version >= 5:
        return unit.kind == UT_SKELETON
    return ".debug_addr" in main.sections and main.head(unit).split_name != ""


class SplitUnits:
    """The content of skeletons; each file is read once."""

    def __init__(self, main: EntrySource, directories: tuple[str, ...], root: str, packages: tuple[str, ...]) -> None:
        """`directories` are where files are looked for whose own directory is not there, `packages` the .dwp files that
        there may be."""
        self._main = main
        self._directories = directories
        self._root = root
        self._packages = packages
        self._opened: dict[str, dict[str, Part]] = {}

    def source(self, unit: DebugUnit) -> EntrySource:
        """Raises DebugInfoError where there is nothing or what does not belong to the skeleton."""
        head = self._main.head(unit)
        for path in self._packages:
            sections = self._sections(path)
            if sections:
                found = package_parts(sections, _UNITS, head.split_id)
                if found is not None:
                    return self._made(unit, path, found)
        name = head.split_name
        own = self._root + os.path.join(head.directory, name)
        inside = [os.path.join(each, path) for each in self._directories for path in (name, os.path.basename(name))]
        places = [own, *(each for each in inside if not os.path.isabs(name) or each != own)]
        path = next((each for each in places if self._sections(each)), "")
        if not path:
            raise DebugInfoError(f"the debug information of {self._main.path} is in {name}, which is not at {own}")
        source = self._made(unit, path, self._sections(path))
        if head.split_id not in [source.head(each).split_id for each in source.units]:
            raise DebugInfoError(f"{path} is not of the same build as {self._main.path}")
        return source

    def _made(self, unit: DebugUnit, path: str, sections: Mapping[str, Part]) -> EntrySource:
        head, main = self._main.head(unit), self._main
        own = main.number(unit, head.attributes, 0x2132)
        header = _LISTS_HEADERS[unit.sizes.offset]
        bases = {
            "DW_AT_addr_base": head.address_base,
            "DW_AT_low_pc": head.low,
            "DW_AT_GNU_ranges_base": own or 0,
            "DW_AT_str_offsets_base": (8 if unit.sizes.offset == 4 else 16) if unit.sizes.version >= 5 else 0,
            "DW_AT_loclists_base": header,
            "DW_AT_rnglists_base": header,
        }
        shared = {each: main.sections[each] for each in _OF_MAIN if each in main.sections}
        return EntrySource(
            path, {**sections, **shared}, main.shared, bases, type_source=self._types_of(path, bases), costs=main.costs
        )

    def _types_of(self, path: str, bases: Mapping[str, int]) -> Callable[[int], EntrySource | None]:
        """What finds the unit of a type in a package, where each has abbreviations of its own."""
        opened: dict[int, EntrySource | None] = {}

        def find(signature: int) -> EntrySource | None:
            if signature not in opened:
                parts = package_parts(self._sections(path), _TYPES, signature)
                opened[signature] = None if parts is None else _of_type(path, parts, bases, find, self._main.costs)
            return opened[signature]

        return find

    def _sections(self, path: str) -> dict[str, Part]:
        """Those of a file by their names without .dwo, none if there is no such file."""
        if path not in self._opened:
            elf = open_regular(path, self._main.costs)
            found = {}
            if elf is not None:
                found = debug_sections(elf, lambda each: each.startswith(".debug_") and _is_split(each))
            self._opened[path] = {each.removesuffix(".dwo"): data for each, data in found.items()}
        return self._opened[path]


def _of_type(
    path: str,
    parts: dict[str, Part],
    bases: Mapping[str, int],
    others: Callable[[int], EntrySource | None],
    costs: Costs,
) -> EntrySource:
    are_old = ".debug_types" in parts
    if are_old:
        parts[".debug_info"] = parts[".debug_types"]
    return EntrySource(path, parts, None, bases, are_old, others, costs)


def _is_split(name: str) -> bool:
    return name.endswith((".dwo", "_index"))


def package_parts(sections: Mapping[str, Part], index: str, signature: int) -> dict[str, Part] | None:
    """The sections of one unit, or of one type, in a package; None if its index has it not. Raises DebugInfoError."""
    data = sections.get(index)
    if not data:
        return None
    rows = _Index(data[:])
    row = rows.row(signature)
    if row is None:
        return None
    found = {name: data for name, data in sections.items() if name not in _SECTIONS[rows.version].values()}
    for name, offset, size in rows.parts(row):
        data = sections.get(name, b"")
        if offset + size > len(data):
            raise DebugInfoError(f"section {name} of the package is cut off")
        found[name] = data[offset : offset + size]
    return found


class _Index:
    """.debug_cu_index or .debug_tu_index of a package."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.version = self._number(0, 4) if data else 0
        if self.version & 0xFFFF == 5:
            self.version = 5
        if self.version not in _SECTIONS:
            raise DebugInfoError(f"the package has an index of version {self.version}, which is not known")
        self._columns, self.count, self._slots = (self._number(at, 4) for at in (4, 8, 12))
        self._rows = 16 + 12 * self._slots
        if self._columns > _MOST_COLUMNS or self._rows + 4 * self._columns * (1 + 2 * self.count) > len(data):
            raise DebugInfoError("the index of the package is cut off")

    def row(self, signature: int) -> int | None:
        """The number of the row of a unit, None if it is not there."""
        mask = self._slots - 1
        slot, step = signature & mask, (signature >> 32 & mask) | 1
        for _ in range(self._slots):
            row = self._number(16 + 8 * self._slots + 4 * slot, 4)
            if not row:
                return None
            if self._number(16 + 8 * slot, 8) == signature:
                return row - 1 if row <= self.count else None
            slot = slot + step & mask
        return None

    def parts(self, row: int) -> Iterator[tuple[str, int, int]]:
        """Name, offset and size of a unit's part of each section."""
        for column in range(self._columns):
            name = _SECTIONS[self.version].get(self._number(self._rows + 4 * column, 4))
            offset = self._number(self._rows + 4 * (self._columns * (1 + row) + column), 4)
            size = self._number(self._rows + 4 * (self._columns * (1 + self.count + row) + column), 4)
            if name is not None:
                yield name, offset, size

    def _number(self, at: int, size: int) -> int:
        if at + size > len(self._data):
            raise DebugInfoError("the index of the package is cut off")
        return int.from_bytes(self._data[at : at + size], "little")
