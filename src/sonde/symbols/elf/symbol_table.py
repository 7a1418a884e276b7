"""A symbol table of an ELF file (System V ABI, chapter 4): its entries as bytes, of which little is made.

Large programs have a hundred thousand symbols, so names and addresses are looked for in the bytes, and a symbol is made
when it is asked for.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from functools import cached_property

from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.file_bytes import Part
from sonde.typed import NamedTuple

STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_GNU_IFUNC = 0, 1, 2, 10
_STT_TLS = 6
_STB_GLOBAL, _STB_WEAK = 1, 2
_SHN_UNDEF, _SHN_ABS = 0, 0xFFF1
_KINDS = frozenset((STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_GNU_IFUNC))
_NOT_DEFINED = frozenset((_SHN_UNDEF, _SHN_ABS))
_SHIFT = 32
_INDEX = (1 << _SHIFT) - 1
_MOST_SYMBOLS = 1 << 21
"""The rest of a larger table is left out."""

_LONGEST_NAME = 1 << 14
"""Bytes of a name that are looked at, which keeps a file without any NUL from taking all the time."""

_NEIGHBOURS = 16
"""How many symbols before an address are tried: one that starts nearer may end before it (a label in a function)."""

_FEW = 8
"""Names that are searched for before an index of all is made."""

_MOST_INDEXED = 1 << 19
"""Of so many entries an index of all names is made."""

_NAME_SIZE = 160
"""Bytes of memory that a name in a table of all takes besides its characters, about."""

_MOST_AT = 1 << 10
"""Symbols of one address that are looked at."""

_KEY_SIZE = 44
"""Bytes of memory that an address takes among all of them."""

_NAMES = 1 << 10
"""Names that are made before it is asked what that has taken."""

_PIECE = 1 << 16
"""Entries that are passed before it is asked what that has taken."""

_WIDE, _NARROW = struct.Struct("<IBBHQQ"), struct.Struct("<IIIBBH")
"""Elf64_Sym and Elf32_Sym."""


class ElfSymbol(NamedTuple):
    """A defined symbol: its link-time address, size in bytes (0 if not known) and STT_* type."""

    address: int
    size: int
    name: str
    kind: int


class _Entry(NamedTuple):
    """A symbol with how good its name is among those of its address."""

    rank: tuple[int, int, str]
    symbol: ElfSymbol


class SymbolTable:
    """`table` are its entries, `strings` the section of their names; `wide` those of ELF's class of 64 bits."""

    def __init__(
        self, table: bytes, strings: Part, wide: bool, costs: Costs | None = None, unloaded: Collection[int] = ()
    ) -> None:
        """`unloaded` are the numbers of sections that are in no memory: what link-time optimization marks in debug
        information has the addresses of code."""
        self._nowhere = _NOT_DEFINED.union(unloaded)
        self._costs = costs or Costs()
        self._layout = _WIDE if wide else _NARROW
        size = self._layout.size
        self._table = table[: min(len(table) // size, _MOST_SYMBOLS) * size]
        self._strings = strings
        self._wide = wide
        self._asked = 0

    def at(self, address: int) -> list[ElfSymbol]:
        """The symbols that begin at a link-time address, the one with the best name last."""
        keys, first = self._keys, address << _SHIFT
        start = bisect_left(keys, first)
        end = min(bisect_right(keys, first | _INDEX, start), start + _MOST_AT)
        found = [entry for key in keys[start:end] if (entry := self._entry(key & _INDEX))]
        if len(found) > 1:
            found.sort()
        return [each.symbol for each in found]

    def named(self, name: str) -> list[ElfSymbol]:
        """The symbols of a name, in their order: more than one where files of the program have a static of that name
        each, or the name has versions (`memcpy@GLIBC_2.2.5`)."""
        self._asked += 1
        is_large = len(self._table) // self._layout.size > _MOST_INDEXED
        is_searched = self._asked <= _FEW or is_large
        numbers = self._search(name) if is_searched else self._by_name.get(name.partition("@")[0], [])
        entered = sorted((each.symbol.address, each) for number in numbers if (each := self._entry(number)))
        found = [each.symbol for _, each in entered]
        return [each for each in found if each.name == name or each.name.startswith(f"{name}@")]

    def addresses(self, names: Collection[str]) -> dict[str, int]:
        """The address of a symbol of each name, as far as there is one, found in one pass: for a few names of which
        there is one each."""
        with self._costs:
            places = {
                place: name for name in names for place in self._places(name.encode(errors="surrogateescape") + b"\0")
            }
            found = {}
            for fields in self._entries():
                if fields[0] in places:
                    start, _, index, address = self._parts(fields)
                    if index not in self._nowhere:
                        found[places[start]] = address
        return found

    def _search(self, name: str) -> list[int]:
        """The entries of a name: its bytes are looked for, since an index of all takes longer than a few searches."""
        wanted = name.encode(errors="surrogateescape")
        with self._costs:
            places = {place for end in (b"\0", b"@") for place in self._places(wanted + end)}
            if not places:
                return []
            return [number for number, (start, *_) in enumerate(self._entries()) if start in places]

    def _places(self, wanted: bytes) -> Iterator[int]:
        """Where a name begins among the strings, also within others: linkers let names that end alike share their
        ends. Raises CostError."""
        place, found = self._strings.find(wanted), 0
        while place >= 0:
            yield place
            found += 1
            if not found % _NAMES:
                self._costs.check()
            if found > _MOST_SYMBOLS:
                self._costs.refuse("a name is there too often")
            place = self._strings.find(wanted, place + 1)

    def _entries(self) -> Iterator[tuple[int, ...]]:
        """The fields of all entries. Raises CostError."""
        size = self._layout.size * _PIECE
        for start in range(0, len(self._table), size):
            self._costs.check()
            yield from self._layout.iter_unpack(self._table[start : start + size])

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        """The entries by name, without versions."""
        found: dict[str, list[int]] = {}
        with self._costs:
            for number, (start, *_) in enumerate(self._entries()):
                found.setdefault(self._counted(start), []).append(number)
        return found

    def names(self, kinds: Collection[int]) -> Iterator[tuple[str, int]]:
        """All names of symbols of some types, without their versions, and the addresses they have."""
        layout, size = self._layout, self._layout.size * _NAMES
        for place in range(0, len(self._table), size):
            with self._costs:
                found = [
                    (self._counted(start), address)
                    for start, kind, index, address in map(
                        self._parts, layout.iter_unpack(self._table[place : place + size])
                    )
                    if kind & 15 in kinds and index not in self._nowhere
                ]
                self._costs.check()
            yield from found

    def _counted(self, start: int) -> str:
        """A name without its version, of those in a table of all. Raises CostError where that takes too much."""
        name = _text_at(self._strings, start).partition("@")[0]
        self._costs.take(len(name) + _NAME_SIZE)
        return name

    def before(self, address: int, kinds: Collection[int]) -> Iterator[int]:
        """The addresses, at or before one, at which symbols of some types begin, the nearest first."""
        keys = self._keys
        for place in range(bisect_right(keys, address << _SHIFT | _INDEX) - 1, -1, -1):
            if self._fields(keys[place] & _INDEX)[1] & 15 in kinds:
                yield keys[place] >> _SHIFT

    def behind(self, address: int, kinds: Collection[int]) -> Iterator[int]:
        """The addresses behind one at which symbols of some types begin, the nearest first."""
        keys = self._keys
        for place in range(bisect_right(keys, address << _SHIFT | _INDEX), len(keys)):
            if self._fields(keys[place] & _INDEX)[1] & 15 in kinds:
                yield keys[place] >> _SHIFT

    def symbolize(self, address: int) -> tuple[str, int] | None:
        """The name of the symbol that has a link-time address in it, without its version, and the distance from its
        start (`around`)."""
        found = self.around(address)
        return (found.name.partition("@")[0], address - found.address) if found is not None else None

    def around(self, address: int) -> ElfSymbol | None:
        """The symbol that has a link-time address in it.

        Of several it is the one that starts last; one without a size goes as far as the next symbol, but is none where
        there is one with a size, as of a function in which there are labels.
        """
        keys = self._keys
        at = bisect_right(keys, address << _SHIFT | _INDEX)
        nearest = keys[at - 1] >> _SHIFT if at else 0
        best: tuple[bool, int, _Entry] | None = None
        for key in keys[max(at - _NEIGHBOURS, 0) : at]:
            entry = self._entry(key & _INDEX)
            if entry is None:
                continue
            start, size = entry.symbol.address, entry.symbol.size
            inside = address < start + size or (not size and start == nearest)
            if inside and (best is None or (bool(size), start, entry) > best):
                best = bool(size), start, entry
        return best[2].symbol if best else None

    def thread_data(self, name: str) -> int | None:
        """Where a thread-local variable is among those of its object; None if there is none of that name."""
        wanted = name.encode() + b"\0"
        with self._costs:
            for fields in self._entries():
                start, kind, index, address = self._parts(fields)
                if kind & 15 == _STT_TLS and index not in self._nowhere and self._strings.startswith(wanted, start):
                    return address
        return None

    def name(self, number: int) -> str:
        """The name of the entry of a number, "" if there is none."""
        if (number + 1) * self._layout.size > len(self._table):
            return ""
        return _text_at(self._strings, self._fields(number)[0])

    @cached_property
    def _keys(self) -> list[int]:
        """Address and index of each defined symbol, packed in one integer, sorted: nothing else is made of them until
        they are asked for."""
        with self._costs:
            return self._sorted_keys()

    def _sorted_keys(self) -> list[int]:
        found: list[int] = []
        size = self._layout.size
        for first in range(0, len(self._table) // size, _PIECE):
            entries = enumerate(self._layout.iter_unpack(self._table[first * size : (first + _PIECE) * size]), first)
            if self._wide:
                found += [
                    address << _SHIFT | number
                    for number, (_, kind, _, index, address, _) in entries
                    if kind & 15 in _KINDS and index not in self._nowhere
                ]
            else:
                found += [
                    address << _SHIFT | number
                    for number, (_, address, _, kind, _, index) in entries
                    if kind & 15 in _KINDS and index not in self._nowhere
                ]
            self._costs.check()
        self._costs.take(_KEY_SIZE * len(found))
        found.sort()
        return found

    def _parts(self, fields: tuple[int, ...]) -> tuple[int, int, int, int]:
        """Where the name is, the type and binding, the section and the address."""
        if self._wide:
            return fields[0], fields[1], fields[3], fields[4]
        return fields[0], fields[3], fields[5], fields[1]

    def _fields(self, number: int) -> tuple[int, int, int, int, int]:
        """Those of _parts of an entry, and its size."""
        fields = self._layout.unpack_from(self._table, number * self._layout.size)
        return *self._parts(fields), fields[5 if self._wide else 2]

    def _entry(self, number: int) -> _Entry | None:
        """An entry of the table, None if it defines nothing, or if its name is the compiler's own."""
        name, kind, index, address, size = self._fields(number)
        if index in self._nowhere or kind & 15 not in _KINDS:
            return None
        spelling = _text_at(self._strings, name)
        if not spelling or spelling.startswith(("$", ".L")):
            return None
        symbol = ElfSymbol(address, size, spelling, kind & 15)
        return _Entry(_rank(symbol, kind >> 4), symbol)


def _text_at(strings: Part, start: int) -> str:
    end = strings.find(b"\0", start, start + _LONGEST_NAME)
    return strings[start : end if end >= 0 else start + _LONGEST_NAME].decode(errors="replace")


def _rank(symbol: ElfSymbol, binding: int) -> tuple[int, int, str]:
    """How good a name is among those of one address: one with a size, then global before weak before local, then the
    name with the fewest underscores in front, as the one people use."""
    strength = 2 if binding == _STB_GLOBAL else int(binding == _STB_WEAK)
    underscores = len(symbol.name) - len(symbol.name.lstrip("_"))
    return (1 if symbol.size else 0) * 3 + strength, -underscores, symbol.name
