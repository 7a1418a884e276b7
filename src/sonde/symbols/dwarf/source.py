"""One file's debug information: its sections, an index of its functions, and pyelftools' view of its entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from sonde.symbols.dwarf import forms
from sonde.symbols.dwarf.abbreviations import Abbreviation, read_abbreviations
from sonde.symbols.dwarf.decoder import give_bases, open_dwarf
from sonde.symbols.dwarf.errors import DebugInfoError, damaged
from sonde.symbols.dwarf.scan import TAG_SUBPROGRAM, FunctionEntry, pass_over, scan_functions
from sonde.symbols.dwarf.units import UT_SPLIT_TYPE, UT_TYPE, Unit, read_units, unit_at
from sonde.typed import Any

_STR_OFFSETS_HEADER = 8


class Source:
    """`bases` are those of split units, whose own entries do not say them (see decoder.give_bases)."""

    def __init__(
        self,
        path: str,
        sections: Mapping[str, bytes],
        shared: Source | None = None,
        bases: Mapping[str, int] | None = None,
    ) -> None:
        self.path = path
        self.sections = sections
        self.shared = shared
        self.bases = bases
        self.info = sections.get(".debug_info", b"")
        self._tables: dict[int, dict[int, Abbreviation]] = {}
        self._functions: dict[int, list[FunctionEntry]] = {}

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Raises DebugInfoError."""
        return read_units(self.info)

    @cached_property
    def dwarf(self) -> Any:
        """pyelftools' DWARFInfo."""
        with damaged(self.path):
            address_size = self.units[0].sizes.address if self.units else 8
            dwarf = open_dwarf(self.sections, address_size, self.shared.dwarf if self.shared else None)
            dwarf.sonde_source = self
            if self.bases is not None:
                for unit in dwarf.iter_CUs():
                    give_bases(unit, self.bases)
        return dwarf

    def unit_at(self, offset: int) -> Unit:
        unit = unit_at(self.units, offset)
        if unit is None:
            raise DebugInfoError(f"the debug information of {self.path} refers to {offset:#x}, where no unit is")
        return unit

    def entry(self, offset: int) -> Any:
        """The decoded entry at an offset of .debug_info, a DIE of pyelftools. Raises DebugInfoError."""
        unit = self.unit_at(offset)
        with damaged(self.path):
            return self.dwarf.get_CU_at(unit.offset).get_DIE_from_refaddr(offset)

    def type_entry(self, signature: int) -> Any:
        """The type that a reference by signature means (DWARF 5, section 7.5.1.3). Raises DebugInfoError."""
        for unit in self.units:
            if unit.kind in (UT_TYPE, UT_SPLIT_TYPE) and unit.dwo_id == signature:
                width = unit.sizes.offset
                return self.entry(
                    unit.offset + int.from_bytes(self.info[unit.entries - width : unit.entries], "little")
                )
        raise DebugInfoError(f"the debug information of {self.path} has no type {signature:#x}")

    def first_entry(self, unit: Unit) -> Any:
        """The entry of the unit itself."""
        with damaged(self.path):
            return self.dwarf.get_CU_at(unit.offset).get_top_DIE()

    def children(self, entry: Any) -> Iterator[Any]:
        """The decoded children of an entry; what is in them is passed over."""
        if not entry.has_children:
            return
        unit = self.unit_at(entry.offset)
        for each in pass_over(self.info, unit, self.table(unit), entry.offset, closed=None):
            if each.depth == 1 and each.abbreviation is not None:
                yield self.entry(each.offset)

    def table(self, unit: Unit) -> dict[int, Abbreviation]:
        """The abbreviations of a unit."""
        table = self._tables.get(unit.offset)
        if table is None:
            table = read_abbreviations(self.sections.get(".debug_abbrev", b""), unit.abbreviations, unit.sizes)
            self._tables[unit.offset] = table
        return table

    def functions(self, unit: Unit) -> list[FunctionEntry]:
        """The functions of a unit, without those inside of functions."""
        found = self._functions.get(unit.offset)
        if found is None:
            found = self._functions[unit.offset] = scan_functions(self.info, unit, self.table(unit), bodies=False)
        return found

    def named(self, name: str) -> set[int]:
        """The entries of functions that have the name, by itself or as linkage name; of all their copies."""
        found: set[int] = set()
        for unit in self._units_with_name(name.encode()):
            found |= {
                each.offset
                for each in self.functions(unit)
                if any(self._string(unit, *place) == name.encode() for place in each.names)
            }
        if self.shared is not None:
            found |= self._referring({~offset for offset in self.shared.named(name)}) - {0}
        return self._referring(found)

    def copies(self, origins: set[int]) -> list[int]:
        """The inlined copies of functions, by the entries of these, which are in the units of their callers."""
        found = []
        for unit in self._units_referring(origins):
            entries = scan_functions(self.info, unit, self.table(unit), bodies=True)
            found += [each.offset for each in entries if each.tag != TAG_SUBPROGRAM and each.origin in origins]
        return found

    def _referring(self, origins: set[int]) -> set[int]:
        """`origins` and the entries that complete them: a declaration's function, an abstract one's code."""
        known = {each for each in origins if each >= 0}
        waiting = origins
        while waiting:
            found = {
                each.offset
                for unit in self._units_referring(waiting)
                for each in self.functions(unit)
                if each.origin in waiting
            }
            waiting = found - known
            known |= found
        return known

    def _units_referring(self, origins: set[int]) -> list[Unit]:
        """Units that may refer to entries: their own, and those with the offset among their bytes."""
        found = {self.unit_at(each).offset for each in origins if each >= 0}
        for origin in origins:
            offset = origin if origin >= 0 else ~origin
            found |= self._units_with(offset.to_bytes(4, "little"))
        return [self.unit_at(offset) for offset in sorted(found)]

    def _units_with_name(self, name: bytes) -> list[Unit]:
        """Units in which the name may occur: as text, by an offset into the strings, or by an index."""
        found = self._units_with(name + b"\0")
        places = [self.sections.get(".debug_str", b""), self.sections.get(".debug_line_str", b"")]
        if self.shared is not None:
            places.append(self.shared.sections.get(".debug_str", b""))
        for strings in places:
            at = strings.find(name + b"\0")
            while at >= 0:
                found |= self._units_with(at.to_bytes(4, "little"))
                at = strings.find(name + b"\0", at + 1)
        indexed = (unit.offset for unit in self.units if unit.offset not in found and self._has_indexes(unit))
        return [self.unit_at(offset) for offset in sorted(found | set(indexed))]

    def _units_with(self, pattern: bytes) -> set[int]:
        """Where the units start that have these bytes somewhere: a search at the speed of memory."""
        found = set()
        at = self.info.find(pattern)
        while at >= 0:
            unit = self.unit_at(at)
            found.add(unit.offset)
            at = self.info.find(pattern, unit.end)
        return found

    def _has_indexes(self, unit: Unit) -> bool:
        return any(step.form in forms.STRING_INDEXES for each in self.table(unit).values() for step in each.steps)

    def _string(self, unit: Unit, at: int, form: int) -> bytes | None:
        """The text of a string attribute, None where it is in a file that is missing."""
        if form == forms.STRING:
            return self.info[at : self.info.find(b"\0", at)]
        value = forms.number(form, self.info, at, unit.sizes)
        section = ".debug_line_str" if form == forms.LINE_STRP else ".debug_str"
        if form in forms.STRING_INDEXES:
            value = self._indexed(unit, value)
        elif form not in (forms.STRP, forms.LINE_STRP):
            return self.shared._text(section, value) if self.shared else None
        return self._text(section, value)

    def _indexed(self, unit: Unit, index: int) -> int:
        if self.bases is not None:
            base = self.bases.get("DW_AT_str_offsets_base", _STR_OFFSETS_HEADER)
        else:
            attribute = self.first_entry(unit).attributes.get("DW_AT_str_offsets_base")
            base = attribute.value if attribute else _STR_OFFSETS_HEADER
        at = base + index * unit.sizes.offset
        return int.from_bytes(self.sections.get(".debug_str_offsets", b"")[at : at + unit.sizes.offset], "little")

    def _text(self, section: str, at: int) -> bytes | None:
        strings = self.sections.get(section, b"")
        end = strings.find(b"\0", at)
        return strings[at:end] if end >= 0 else None
