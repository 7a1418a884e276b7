"""Which units have entries of a name, as section .debug_names tells (DWARF 5, section 6.1.1).

There may be several indexes one behind the other, as many as there were objects, each of some units. Names are looked
for by where they are among the strings, not by their hashes: who asks knows all such places, of names that begin alike
as well. An index has functions, also where they are inlined; of variables those alone that are in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from sonde.symbols.dwarf import forms
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.forms import Sizes, uleb128
from sonde.symbols.elf.file_bytes import Part
from sonde.typed import NamedTuple

SECTION = ".debug_names"

_VERSION = 5
_COMPILE_UNIT = 1
"""DW_IDX_compile_unit."""

Declaration = tuple[tuple[int, int], ...]
"""The attributes (DW_IDX_*, form) of an entry."""


class _Index(NamedTuple):
    """An index of `units`; `strings` and `entries` are where the numbers of its names are, each of `width` bytes, and
    `pool` is where its entries are, up to `end`."""

    units: tuple[int, ...]
    names: int
    strings: int
    entries: int
    pool: int
    end: int
    width: int
    declarations: dict[int, Declaration]


class NameIndex:
    """The indexes of one section, as far as they make sense: `units` are those of which they tell."""

    def __init__(self, data: Part) -> None:
        self._data = data
        self._indexes = list(_indexes(data))
        self.units = frozenset(unit for each in self._indexes for unit in each.units)

    def units_with(self, places: Iterable[int]) -> set[int]:
        """The units with entries of the names at these places of .debug_str."""
        found: set[int] = set()
        for place in places:
            for index in self._indexes:
                pattern = place.to_bytes(index.width, "little") if place >> 8 * index.width == 0 else b""
                where = self._data.find(pattern, index.strings, index.entries) if pattern else -1
                while where >= 0:
                    if (where - index.strings) % index.width == 0:
                        found |= self._units(index, (where - index.strings) // index.width)
                    where = self._data.find(pattern, where + 1, index.entries)
        return found

    def _units(self, index: _Index, name: int) -> set[int]:
        """The units of the entries of a name, by its number from 0."""
        if len(index.units) == 1:
            return set(index.units)
        at = index.pool + _number(self._data, index.entries + name * index.width, index.width)
        found: set[int] = set()
        sizes = Sizes(8, index.width, _VERSION)
        try:
            while at < index.end:
                code, at = uleb128(self._data, at)
                if not code:
                    return found
                for attribute, form in index.declarations[code]:
                    if attribute == _COMPILE_UNIT:
                        found.add(index.units[forms.number(form, self._data, at, sizes)])
                    at = forms.skip(form, self._data, at, sizes)
        except (IndexError, KeyError, ValueError, DebugInfoError):
            pass
        # What makes no sense rules no unit out.
        return set(index.units)


def _indexes(data: Part) -> Iterator[_Index]:
    at = 0
    while at + 4 <= len(data):
        width, length, at = 4, _number(data, at, 4), at + 4
        if length == 0xFFFFFFFF:
            width, length, at = 8, _number(data, at, 8), at + 8
        end = at + length
        found = _index(data, at, end, width) if end <= len(data) else None
        if found is None:
            return
        yield found
        at = end


def _index(data: Part, at: int, end: int, width: int) -> _Index | None:
    """The index behind its length, None for one that makes no sense or has units of types elsewhere."""
    if at + 32 > end or _number(data, at, 2) != _VERSION:
        return None
    units, local, foreign, buckets, names, abbreviations, text = (_number(data, at + 4 + 4 * n, 4) for n in range(7))
    first = at + 32 + (text + 3 & ~3)
    hashes = first + width * (units + local) + 8 * foreign + 4 * buckets
    strings = hashes + (4 * names if buckets else 0)
    entries = strings + width * names
    declared = entries + width * names
    pool = declared + abbreviations
    if pool > end or local or foreign:
        return None
    declarations = _declarations(data, declared, pool)
    if declarations is None:
        return None
    offsets = tuple(_number(data, first + width * n, width) for n in range(units))
    return _Index(offsets, names, strings, entries, pool, end, width, declarations)


def _declarations(data: Part, at: int, end: int) -> dict[int, Declaration] | None:
    """By their codes, and of each the tag left out; None where they make no sense."""
    read: Callable[[Part, int], tuple[int, int]] = uleb128
    found: dict[int, Declaration] = {}
    try:
        while at < end:
            code, at = read(data, at)
            if not code:
                return found
            _, at = read(data, at)
            attributes: list[tuple[int, int]] = []
            while at < end:
                attribute, at = read(data, at)
                form, at = read(data, at)
                if not attribute:
                    break
                attributes.append((attribute, form))
            found[code] = tuple(attributes)
    except IndexError:
        return None
    return found


def _number(data: Part, at: int, width: int) -> int:
    return int.from_bytes(data[at : at + width], "little")
