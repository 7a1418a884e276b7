"""One file's debug information: its sections, an index of its functions, and pyelftools' view of its entries."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from operator import itemgetter

from sonde.symbols.dwarf import abbreviations as at
from sonde.symbols.dwarf import forms
from sonde.symbols.dwarf.abbreviations import Abbreviation, one_abbreviation, read_abbreviations
from sonde.symbols.dwarf.decoder import give_bases, open_dwarf, prepare
from sonde.symbols.dwarf.errors import DebugInfoError, damaged
from sonde.symbols.dwarf.head import Head
from sonde.symbols.dwarf.lists import (
    ListReader,
    Location,
    locations,
    old_locations,
    old_ranges,
    ranges,
    split_locations,
)
from sonde.symbols.dwarf.name_index import SECTION as NAME_INDEX
from sonde.symbols.dwarf.name_index import NameIndex
from sonde.symbols.dwarf.scan import (
    SCANNED_SIZE,
    TAG_MEMBER,
    TAG_SUBPROGRAM,
    TAG_VARIABLE,
    TAGS_OF_TYPES,
    Attributes,
    Scanned,
    attributes_at,
    pass_over,
    scan,
)
from sonde.symbols.dwarf.units import UT_SPLIT_TYPE, UT_TYPE, DebugUnit, read_units, unit_at
from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.file_bytes import Part
from sonde.typed import Any

_FEW = 4
"""Units that have a number as an address, of which there is one as a rule."""
_MOST_DECODED = 50_000
"""Entries that are decoded before all of them are given up: about 2 KB each."""

_MOST_CACHED = 96 << 20
_ABBREVIATION_SIZE, _HEAD_SIZE = 600, 1000
"""Bytes of memory, about."""

_BODIES = frozenset((TAG_SUBPROGRAM,))
_NOTHING: frozenset[int] = frozenset()
_TYPES = frozenset((TAG_SUBPROGRAM, *TAGS_OF_TYPES))


class EntrySource:
    """`bases` are those of split units, whose own entries do not say them (see decoder.give_bases). `are_types`: what
    is .debug_info here is .debug_types. `type_source` finds what has the unit of a type that is not here."""

    def __init__(
        self,
        path: str,
        sections: Mapping[str, Part],
        shared: EntrySource | None = None,
        bases: Mapping[str, int] | None = None,
        are_types: bool = False,
        type_source: Callable[[int], EntrySource | None] | None = None,
        costs: Costs | None = None,
    ) -> None:
        self.costs = costs or Costs()
        self._cached = self._decoded = 0
        self.path = path
        self.sections = sections
        self.shared = shared
        self.bases = bases
        self._are_types = are_types
        self._type_source = type_source
        self.info = sections.get(".debug_info", b"")
        self._tables: dict[int, dict[int, Abbreviation]] = {}
        self._decoders: dict[int, Any] = {}
        self._heads: dict[int, Head] = {}
        self._code: dict[tuple[int, frozenset[int]], tuple[list[tuple[int, Scanned]], list[Scanned]]] = {}
        self._found: dict[tuple[int, tuple[int, ...], frozenset[int]], list[Scanned]] = {}

    @cached_property
    def units(self) -> tuple[DebugUnit, ...]:
        """Raises DebugInfoError."""
        with self.costs:
            return read_units(self.info, self.costs, self._are_types)

    @cached_property
    def dwarf(self) -> Any:
        """pyelftools' DWARFInfo."""
        with damaged(self.path):
            address_size = self.units[0].sizes.address if self.units else 8
            dwarf = open_dwarf(self.sections, address_size, self.shared.dwarf if self.shared else None)
            dwarf.sonde_source = self
        return dwarf

    def _decoder(self, unit: DebugUnit) -> Any:
        """pyelftools' CompileUnit."""
        if unit.offset not in self._decoders:
            made = self.dwarf.get_CU_at(unit.offset)
            places = {code: each.at for code, each in self.table(unit).items()}
            prepare(made, unit.entries, places)
            if self.bases is not None:
                give_bases(made, self.bases)
            self._decoders[unit.offset] = made
        return self._decoders[unit.offset]

    def unit_at(self, offset: int) -> DebugUnit:
        unit = unit_at(self.units, offset)
        if unit is None:
            raise DebugInfoError(f"the debug information of {self.path} refers to {offset:#x}, where no unit is")
        return unit

    def entry(self, offset: int) -> Any:
        """The decoded entry at an offset of .debug_info, a DIE of pyelftools. Raises DebugInfoError."""
        unit = self.unit_at(offset)
        self._decoded += 1
        if self._decoded > _MOST_DECODED:
            self._forget()
        with self.costs, damaged(self.path):
            self.costs.check()
            return self._decoder(unit).get_DIE_from_refaddr(offset)

    def _keep(self, size: int) -> None:
        """So many more bytes are kept of what has been read: all that was is given up where it becomes too much."""
        if self._cached + size > _MOST_CACHED:
            self._forget()
        self.costs.take(size)
        self._cached += size

    def _forget(self) -> None:
        for each in (self._tables, self._decoders, self._heads, self._code, self._found):
            each.clear()
        self.__dict__.pop("dwarf", None)
        self.costs.give_back(self._cached)
        self._cached = self._decoded = 0

    def type_entry(self, signature: int) -> Any:
        """The type that a reference by signature means (DWARF 5, section 7.5.1.3). Raises DebugInfoError."""
        elsewhere = self._type_source(signature) if self._type_source else None
        for source in (self, *self.type_units, *([elsewhere] if elsewhere else [])):
            for unit in source.units:
                if unit.kind in (UT_TYPE, UT_SPLIT_TYPE) and unit.dwo_id == signature:
                    return source.entry(unit.offset + unit.type_offset)
        raise DebugInfoError(f"the debug information of {self.path} has no type {signature:#x}")

    @cached_property
    def type_units(self) -> tuple[EntrySource, ...]:
        """The units of types of DWARF 4, which have a section of their own; none if there is none."""
        data = self.sections.get(".debug_types")
        if not data or self._are_types:
            return ()
        return (
            EntrySource(
                self.path, {**self.sections, ".debug_info": data}, self.shared, self.bases, True, costs=self.costs
            ),
        )

    @property
    def has_type_units(self) -> bool:
        """Whether types have units of their own, to which the others refer by signature."""
        return bool(
            self.type_units or self._type_source or any(unit.kind in (UT_TYPE, UT_SPLIT_TYPE) for unit in self.units)
        )

    def first_entry(self, unit: DebugUnit) -> Any:
        """The entry of the unit itself."""
        with damaged(self.path):
            return self._decoder(unit).get_top_DIE()

    def children(self, entry: Any) -> Iterator[Any]:
        """The decoded children of an entry; what is in them is passed over."""
        if not entry.has_children:
            return
        unit = self.unit_at(entry.offset)
        for each in pass_over(self.info, unit, self.table(unit), entry.offset, closed=None):
            if each.depth == 1 and each.abbreviation is not None:
                yield self.entry(each.offset)

    def table(self, unit: DebugUnit) -> dict[int, Abbreviation]:
        """The abbreviations of a unit."""
        table = self._tables.get(unit.offset)
        if table is None:
            with self.costs:
                self.costs.check()
                table = read_abbreviations(self.sections.get(".debug_abbrev", b""), unit.abbreviations, unit.sizes)
            self._keep(_ABBREVIATION_SIZE * len(table))
            self._tables[unit.offset] = table
        return table

    def functions(self, unit: DebugUnit) -> list[Scanned]:
        """The functions of a unit, without those inside of functions."""
        return self._scanned(unit, (TAG_SUBPROGRAM,))

    def variables(self, unit: DebugUnit) -> list[Scanned]:
        """The variables of a unit, without those inside of functions, and what declares them in classes."""
        # Before DWARF 5 a static member is declared as a member.
        found = self._scanned(unit, (TAG_VARIABLE,)), self._scanned(unit, (TAG_MEMBER,))
        return [each for some in found for each in some if some is found[0] or at.AT_DECLARATION in each.attributes]

    def types(self, unit: DebugUnit) -> list[Scanned]:
        """The classes, structures, unions and enumerations of a unit, without those inside of functions."""
        return self._scanned(unit, TAGS_OF_TYPES)

    def _scanned(self, unit: DebugUnit, tags: tuple[int, ...], closed: frozenset[int] = _BODIES) -> list[Scanned]:
        key = unit.offset, tags, closed
        if key not in self._found:
            table = self.table(unit)
            with self.costs:
                found = scan(self.info, unit, table, frozenset(tags), closed, self.costs)
            self._keep(SCANNED_SIZE * len(found))
            self._found[key] = found
        return self._found[key]

    def head(self, unit: DebugUnit) -> Head:
        """What the first entry of a unit says. Raises DebugInfoError."""
        if unit.offset not in self._heads:
            self.costs.check()
            table = self._tables.get(unit.offset)
            if table is None:
                with damaged(self.path):
                    code = forms.uleb128(self.info, unit.entries)[0]
                table = one_abbreviation(self.sections.get(".debug_abbrev", b""), unit.abbreviations, unit.sizes, code)
            attributes = attributes_at(self.info, unit, table, unit.entries)
            tag = next(iter(table.values())).tag if len(table) == 1 else self.tag_at(unit, unit.entries)
            self._keep(_HEAD_SIZE)
            self._heads[unit.offset] = Head(self, unit, tag, attributes)
        return self._heads[unit.offset]

    def tag_at(self, unit: DebugUnit, offset: int) -> int:
        """The tag of the entry at an offset, which was read before."""
        return self.table(unit)[forms.uleb128(self.info, offset)[0]].tag

    def number(self, unit: DebugUnit, attributes: Attributes, *kinds: int) -> int | None:
        """The first of some attributes that is there, as a number. Raises DebugInfoError."""
        place = next((attributes[each] for each in kinds if each in attributes), None)
        if place is None:
            return None
        where, form = place
        with damaged(self.path):
            return forms.number(form, self.info, where, unit.sizes)

    def address(self, unit: DebugUnit, attributes: Attributes, attribute: int) -> int | None:
        """An attribute that is an address, or the index of one. Raises DebugInfoError."""
        value = self.number(unit, attributes, attribute)
        if value is None or attributes[attribute][1] not in forms.ADDRESS_INDEXES:
            return value
        return self.indexed_address(unit, value)

    def indexed_address(self, unit: DebugUnit, index: int) -> int:
        """The address with an index in .debug_addr. Raises DebugInfoError."""
        where = self.head(unit).address_base + index * unit.sizes.address
        data = self.sections.get(".debug_addr", b"")
        if where + unit.sizes.address > len(data):
            raise DebugInfoError(f"the debug information of {self.path} has no address {index}")
        return int.from_bytes(data[where : where + unit.sizes.address], "little")

    @cached_property
    def name_index(self) -> NameIndex | None:
        data = self.sections.get(NAME_INDEX, b"")
        return NameIndex(data) if data and self.bases is None and not self._are_types else None

    def units_naming(self, address: int) -> list[DebugUnit]:
        """The units that have an address itself, as that of a function or of something else: a search for its bytes."""
        found: list[DebugUnit] = []
        pattern = address.to_bytes(8, "little")
        where = self.info.find(pattern)
        while where >= 0 and len(found) < _FEW:
            found.append(self.unit_at(where))
            where = self.info.find(pattern, found[-1].end)
        where = self.sections.get(".debug_addr", b"").find(pattern)
        if where >= 0 and self.bases is None:
            # The addresses of a unit begin at its base and end where those of another one begin.
            base = max((each for each in self._address_bases if each <= where), default=-1)
            found += self._address_bases.get(base, ())[:_FEW]
        return [each for each in dict.fromkeys(found) if each.sizes.address == 8]

    @cached_property
    def _address_bases(self) -> dict[int, list[DebugUnit]]:
        found: dict[int, list[DebugUnit]] = {}
        for unit in self.units:
            found.setdefault(self.head(unit).address_base, []).append(unit)
        return found

    @cached_property
    def string_tables(self) -> dict[int, tuple[int, int]]:
        """Where the offsets of strings begin and end in .debug_str_offsets to which the indexes of a unit lead, for
        each unit, by its offset, that says it."""
        found: dict[int, tuple[int, int]] = {}
        if not self.sections.get(".debug_str_offsets"):
            return found
        for unit in self.units:
            head, width = self.head(unit), unit.sizes.offset
            if unit.sizes.version < 5 or at.AT_STRING_BASE not in head.attributes:
                continue
            # Before the first one are the length, of what follows it, a version and two bytes (DWARF 5, section 7.26).
            start = head.string_base - 4
            length = self.sections.get(".debug_str_offsets", b"")[start - width : start]
            found[unit.offset] = head.string_base, start + int.from_bytes(length, "little")
        return found

    def string(self, unit: DebugUnit, attributes: Attributes, *kinds: int) -> bytes | None:
        """The first of some attributes that is there, as text; None if it is missing, or in a file that is."""
        place = next((attributes[each] for each in kinds if each in attributes), None)
        if place is None:
            return None
        where, form = place
        if form == forms.STRING:
            return self.info[where : self.info.find(b"\0", where)]
        value = forms.number(form, self.info, where, unit.sizes)
        if form in forms.STRING_INDEXES:
            value = self.string_at_index(unit, value)
        elif form not in (forms.STRP, forms.LINE_STRP):
            return self.shared.text(".debug_str", value) if self.shared else None
        return self.text(".debug_line_str" if form == forms.LINE_STRP else ".debug_str", value)

    def string_at_index(self, unit: DebugUnit, index: int) -> int:
        """Where a string with an index is in .debug_str."""
        where, width = self.head(unit).string_base + index * unit.sizes.offset, unit.sizes.offset
        return int.from_bytes(self.sections.get(".debug_str_offsets", b"")[where : where + width], "little")

    def text(self, section: str, start: int) -> bytes | None:
        """The text at an offset of a section of strings."""
        strings = self.sections.get(section, b"")
        end = strings.find(b"\0", start)
        return strings[start:end] if end >= 0 else None

    def function_at(self, unit: DebugUnit, address: int) -> Any:
        """The function of a unit that has code at a link-time address, None if there is none. Raises DebugInfoError."""
        # Classes have declarations of functions only, as a rule, and functions have none of their own within them: but
        # those of lambdas, of local classes and of GNU's nested functions are there.
        for closed in (_TYPES, _BODIES, _NOTHING):
            begins, others = self._code_of(unit, closed)
            index = bisect_right(begins, address, key=itemgetter(0)) - 1
            # Functions of a unit do not overlap, but those that were left out may all begin at one address.
            first = bisect_left(begins, begins[index][0], key=itemgetter(0)) if index >= 0 else 0
            for each in [found for _, found in begins[first : index + 1]] + others:
                if any(start <= address < end for start, end in self.code_ranges(unit, each.attributes)):
                    return self.entry(each.offset)
        return None

    def _code_of(self, unit: DebugUnit, closed: frozenset[int]) -> tuple[list[tuple[int, Scanned]], list[Scanned]]:
        """The functions of a unit whose code is in one piece, by where that begins, and those in several pieces."""
        key = unit.offset, closed
        if key not in self._code:
            functions = self._scanned(unit, (TAG_SUBPROGRAM,), closed)
            others = [each for each in functions if at.AT_RANGES in each.attributes]
            begins = []
            for each in functions:
                low = None if at.AT_RANGES in each.attributes else self._low(unit, each.attributes)
                if low is not None:
                    begins.append((low, each))
            self._code[key] = sorted(begins, key=itemgetter(0)), others
        return self._code[key]

    def _low(self, unit: DebugUnit, attributes: Attributes) -> int | None:
        where, form = attributes.get(at.AT_LOW_PC, (0, 0))
        if form == forms.ADDR:
            return int.from_bytes(self.info[where : where + unit.sizes.address], "little")
        return self.address(unit, attributes, at.AT_LOW_PC)

    def code_ranges(self, unit: DebugUnit, attributes: Attributes) -> tuple[tuple[int, int], ...]:
        """The link-time addresses of an entry's code, as (start, end). Raises DebugInfoError."""
        if at.AT_RANGES in attributes:
            value = self.number(unit, attributes, at.AT_RANGES) or 0
            return self.ranges(unit, value, attributes[at.AT_RANGES][1] == forms.RNGLISTX)
        low = self.address(unit, attributes, at.AT_LOW_PC)
        if low is None or at.AT_HIGH_PC not in attributes:
            return ()
        form = attributes[at.AT_HIGH_PC][1]
        is_address = form == forms.ADDR or form in forms.ADDRESS_INDEXES
        high = self.address(unit, attributes, at.AT_HIGH_PC) or 0
        return ((low, high if is_address else low + high),)

    def ranges_at(self, offset: int) -> tuple[tuple[int, int], ...]:
        """The link-time addresses of the code of the entry at an offset."""
        unit = self.unit_at(offset)
        return self.code_ranges(unit, attributes_at(self.info, unit, self.table(unit), offset))

    def ranges(self, unit: DebugUnit, value: int, is_index: bool) -> tuple[tuple[int, int], ...]:
        """A list of ranges, by its offset or its index. Raises DebugInfoError."""
        if unit.sizes.version >= 5:
            reader = self._reader(unit, ".debug_rnglists")
            if is_index:
                value = self._listed(unit, reader, self.head(unit).ranges_base, value)
            return ranges(reader, value)
        # Lists of a split unit of version 4 are in the file of its skeleton.
        offset = self.bases.get("DW_AT_GNU_ranges_base", 0) if self.bases is not None else 0
        return old_ranges(self._reader(unit, ".debug_ranges"), offset + value)

    def locations(self, unit: DebugUnit, value: int, is_index: bool) -> Iterator[Location]:
        """A list of locations, by its offset or its index. Raises DebugInfoError."""
        if unit.sizes.version >= 5:
            reader = self._reader(unit, ".debug_loclists")
            if is_index:
                value = self._listed(unit, reader, self.head(unit).locations_base, value)
            return locations(reader, value)
        read = old_locations if self.bases is None else split_locations
        return read(self._reader(unit, ".debug_loc"), value)

    def _reader(self, unit: DebugUnit, section: str) -> ListReader:
        data = self.sections.get(section)
        if data is None:
            raise DebugInfoError(f"{self.path} has no section {section}, though entries refer to it")
        return ListReader(
            data, section, unit.sizes.address, self.head(unit).low, lambda index: self.indexed_address(unit, index)
        )

    def _listed(self, unit: DebugUnit, reader: ListReader, base: int, index: int) -> int:
        return base + reader.number(base + index * unit.sizes.offset, unit.sizes.offset)
