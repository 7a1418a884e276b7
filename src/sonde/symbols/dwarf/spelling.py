"""Where a name is among an object's strings, and which units have it: a search for its bytes at the speed of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sonde.symbols.dwarf import abbreviations as at
from sonde.symbols.dwarf import forms
from sonde.symbols.dwarf.abbreviations import Abbreviation
from sonde.symbols.dwarf.source import EntrySource
from sonde.symbols.dwarf.units import DebugUnit

MANY = 64
"""Places among the strings from which on every unit is looked through: each costs a search through all entries."""
_INDEX_SIZES = {forms.STRX1: 1, forms.STRX2: 2, forms.STRX3: 3, forms.STRX4: 4}


def units_with(source: EntrySource, pattern: bytes) -> set[int]:
    """Where the units start that have these bytes somewhere: a search at the speed of memory."""
    found = set()
    where = source.info.find(pattern)
    while where >= 0:
        source.costs.check()
        unit = source.unit_at(where)
        found.add(unit.offset)
        where = source.info.find(pattern, unit.end)
    return found


class NameSpelling:
    """A name, or with `is_template` also that name and what begins with `<`, and where it is among the strings."""

    def __init__(self, source: EntrySource, name: bytes, is_template: bool) -> None:
        self._source, self._name, self._is_template = source, name, is_template
        self._own = self._places(source, ".debug_str")
        self._lines = self._places(source, ".debug_line_str")
        self._shared = self._places(source.shared, ".debug_str") if source.shared else set()

    def _places(self, source: EntrySource, section: str) -> set[int]:
        strings, found = source.sections.get(section, b""), set()
        for pattern in self._patterns():
            where = strings.find(pattern)
            while where >= 0:
                found.add(where)
                source.costs.check()
                where = strings.find(pattern, where + 1)
        return found

    def _patterns(self) -> Iterator[bytes]:
        yield self._name + b"\0"
        if self._is_template:
            yield self._name + b"<"

    def units(self, is_indexed: bool) -> set[int]:
        """Where the units start in which the name may occur; if `is_indexed` of those in an index as that tells."""
        index = self._source.name_index if is_indexed else None
        if index is not None and len(self._own) <= MANY:
            return index.units_with(self._own) | (self._holding() - index.units)
        return self._holding()

    def _holding(self) -> set[int]:
        """By the bytes of units."""
        places = self._own | self._lines | self._shared
        if len(places) > MANY:
            return {unit.offset for unit in self._source.units}
        found: set[int] = set()
        for pattern in self._patterns():
            found |= units_with(self._source, pattern)
        for place in places:
            found |= units_with(self._source, place.to_bytes(4, "little"))
        return found | self._by_indexes(found)

    def _by_indexes(self, known: set[int]) -> set[int]:
        """The units whose tables of strings have the name; and those which have such a table somewhere else."""
        return {unit.offset for unit in self._source.units if unit.offset not in known and self._has_indexes(unit)}

    def _has_indexes(self, unit: DebugUnit) -> bool:
        indexes = self._indexes(unit)
        if indexes is not None:
            return bool(indexes)
        if unit.sizes.version == 5 and self._source.bases is None:
            return unit.offset in self._source.string_tables
        table = self._source.table(unit).values()
        return any(step.form in forms.STRING_INDEXES for each in table for step in each.steps)

    def entries(self, unit: DebugUnit, tags: frozenset[int]) -> list[int] | None:
        """Where definitions of the tags and of the name may begin in a unit; None where their bytes do not tell."""
        found: set[int] = set()
        for code, kind in self._source.table(unit).items():
            if kind.tag not in tags or any(step.attribute == at.AT_DECLARATION for step in kind.steps):
                continue
            before = _before_name(kind)
            if before is None:
                continue
            skip, form = before
            values = self._values(unit, form) if skip >= 0 else None
            if values is None or len(values) > MANY:
                return None
            head = _uleb(code)
            for value in values:
                found.update(self._behind(unit, value, skip + len(head), head))
        return sorted(found)

    def _behind(self, unit: DebugUnit, value: bytes, back: int, head: bytes) -> Iterator[int]:
        """Where a value is in a unit with the code of an abbreviation so many bytes before it."""
        info = self._source.info
        where = info.find(value, unit.entries, unit.end)
        while where >= 0:
            if info[where - back : where - back + len(head)] == head:
                yield where - back
            where = info.find(value, where + 1, unit.end)

    def _values(self, unit: DebugUnit, form: int) -> list[bytes] | None:
        """What an attribute of a form that is the name looks like in a unit; None if nobody knows."""
        if form == forms.STRING:
            return [self._name + b"\0"]
        if form in forms.STRING_INDEXES:
            indexes, size = self._indexes(unit), _INDEX_SIZES.get(form, 0)
            return (
                None
                if indexes is None or not size
                else [each.to_bytes(size, "little") for each in indexes if each >> 8 * size == 0]
            )
        places = {forms.STRP: self._own, forms.LINE_STRP: self._lines}.get(form, self._shared)
        return [each.to_bytes(8, "little")[: unit.sizes.offset] for each in places]

    def test(self, unit: DebugUnit) -> Callable[[int, int], bool]:
        """What tells whether an attribute, by where it is and by its form, is the name. There are many of them."""
        info, width = self._source.info, unit.sizes.offset
        packed = frozenset(place.to_bytes(8, "little")[:width] for place in self._own)
        indexes = self._indexes(unit)

        def is_it(where: int, form: int) -> bool:
            if form == forms.STRP:
                return info[where : where + width] in packed
            if indexes is not None and (size := _INDEX_SIZES.get(form)):
                return int.from_bytes(info[where : where + size], "little") in indexes
            return self._is(unit, where, form)

        return is_it

    def _indexes(self, unit: DebugUnit) -> frozenset[int] | None:
        """The numbers of the name in the unit's own table of strings, None if they are not known."""
        table = self._source.string_tables.get(unit.offset)
        if table is None or len(self._own) > MANY:
            return None
        found, (start, end), width = set(), table, unit.sizes.offset
        offsets = self._source.sections.get(".debug_str_offsets", b"")
        for place in self._own:
            pattern = place.to_bytes(8, "little")[:width]
            where = offsets.find(pattern, start, end)
            while where >= 0:
                if not (where - start) % width:
                    found.add((where - start) // width)
                where = offsets.find(pattern, where + 1, end)
        return frozenset(found)

    def _is(self, unit: DebugUnit, where: int, form: int) -> bool:
        if form == forms.STRING:
            return any(self._source.info.startswith(pattern, where) for pattern in self._patterns())
        value = self._value(unit, where, form)
        if form in forms.STRING_INDEXES:
            return self._source.string_at_index(unit, value) in self._own
        return value in (self._lines if form == forms.LINE_STRP else self._shared)

    def _value(self, unit: DebugUnit, where: int, form: int) -> int:
        return forms.number(form, self._source.info, where, unit.sizes)


def _before_name(kind: Abbreviation) -> tuple[int, int] | None:
    """How many bytes of an entry of a kind are between its code and its name, -1 if they differ, and the name's form;
    None for a kind without a name."""
    before = 0
    for skip, attribute, form, size in kind.steps:
        before = before + skip if before >= 0 else before
        if attribute == at.AT_NAME:
            return before, form
        before = before + size if before >= 0 and size >= 0 else -1
    return None


def _uleb(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*found, number))
