"""The functions of a program of Go by the table that its runtime has of them, which is there without symbols as well.

The layouts are those of runtime/symtab.go and debug/gosym/pclntab.go of Go 1.2, 1.16, 1.18 and 1.20.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from functools import cached_property

from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.file import ElfFile, Section
from sonde.symbols.elf.file_bytes import Part
from sonde.typed import NamedTuple

_NAMES = (".gopclntab", ".data.rel.ro.gopclntab")
_TEXT = ".text"
_GO_1_2, _GO_1_16, _GO_1_18, _GO_1_20 = 0xFFFFFFFB, 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1
_START = struct.Struct("<IHBB")
"""The layout's number, 0, the smallest instruction, the size of an address."""
_ADDRESSES = {4: "I", 8: "Q"}
_MOST = 1 << 20
"""Functions of a program."""
_LONGEST = 1 << 10
"""Bytes of a name; what is longer, or has no end, is none."""
_PIECE = 1 << 12
"""Functions that are looked at between two checks of the costs."""
_RELOCATION = struct.Struct("<QQq")
"""Elf64_Rela: offset, kind, addend."""
_LARGEST_RELOCATIONS = 16 << 20


class _Layout(NamedTuple):
    """The parts of a table, by their offsets in it.

    `first` is the first of `functions` entries of the form `entry`: an address, counted from `text`, and the offset of
    a _func, counted from `base`. A _func has the offset of its name, counted from `names`, `name` bytes after its
    start. After the entries stands the end of the last function."""

    functions: int
    entry: struct.Struct
    first: int
    base: int
    name: int
    names: int
    text: int


class GoFunctions:
    """The functions of one file, looked up by binary search."""

    def __init__(self, table: Part, layout: _Layout, costs: Costs) -> None:
        self._table, self._layout, self._costs = table, layout, costs

    def around(self, address: int) -> tuple[str, int] | None:
        """The name and the start of the function that has a link-time address in it. Raises CostError."""
        wanted = address - self._layout.text
        low, high = 0, self._layout.functions
        if not self._entry(0)[0] <= wanted < self._entry(high)[0]:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if self._entry(middle)[0] <= wanted:
                low = middle
            else:
                high = middle
        start, place = self._entry(low)
        name = self._name(place)
        return (name, start + self._layout.text) if name else None

    def addresses(self, names: Collection[str]) -> Iterator[int]:
        """The start addresses of the functions with these names. Raises CostError."""
        wanted = {place for name in names for place in self._places(name.encode())}
        if not wanted:
            return
        for number in range(self._layout.functions):
            start, place = self._entry(number)
            if self._name_place(place) in wanted:
                yield start + self._layout.text
            if not number % _PIECE:
                self._costs.check()

    def _places(self, name: bytes) -> Iterator[int]:
        place = self._table.find(b"\0" + name + b"\0", self._layout.names)
        if place >= 0:
            yield place + 1

    def _entry(self, number: int) -> tuple[int, int]:
        """The address, counted from `text`, and the offset of the _func; zeros beyond the end of the file."""
        form = self._layout.entry
        at = self._layout.first + number * form.size
        data = self._table[at : at + form.size]
        address, place = form.unpack(data.ljust(form.size, b"\0"))
        return address, self._layout.base + place

    def _name_place(self, place: int) -> int:
        at = place + self._layout.name
        return self._layout.names + int.from_bytes(self._table[at : at + 4], "little")

    def _name(self, place: int) -> str:
        at = self._name_place(place)
        end = self._table.find(b"\0", at, at + _LONGEST + 1)
        return self._table[at:end].decode(errors="replace") if end >= 0 else ""


class _Table:
    """The bytes of the section, and the words of its header."""

    def __init__(self, file: ElfFile, section: Section) -> None:
        self._file, self._section = file, section
        self.part = file.part(section)
        start = self.part[: _START.size].ljust(_START.size, b"\0")
        self._kind, zero, _, self._size = _START.unpack(start)
        self._is_one = not zero and self._size in _ADDRESSES

    def _words(self, count: int) -> tuple[int, ...]:
        form = struct.Struct(f"<{count}{_ADDRESSES[self._size]}")
        return form.unpack(self.part[_START.size : _START.size + form.size].ljust(form.size, b"\0"))

    @cached_property
    def layout(self) -> _Layout | None:
        """None for a table of another version of Go, and for what is none."""
        if not self._is_one:
            return None
        pair = struct.Struct(f"<2{_ADDRESSES[self._size]}")
        match self._kind:
            case int(kind) if kind in (_GO_1_18, _GO_1_20):
                functions, _, text, names, _, _, _, base = self._words(8)
                found = _Layout(functions, struct.Struct("<2I"), base, base, 4, names, text or self._text())
            case int(kind) if kind == _GO_1_16:
                functions, _, names, _, _, _, base = self._words(7)
                found = _Layout(functions, pair, base, base, self._size, names, 0)
            case int(kind) if kind == _GO_1_2:
                (functions,) = self._words(1)
                found = _Layout(functions, pair, _START.size + self._size, 0, self._size, 0, 0)
            case _:
                return None
        return found if 0 < found.functions <= _MOST else None

    def _text(self) -> int:
        """The start of the code: from the relocation of the header's word, else that of the section, at whose beginning
        Go's own linker puts all code."""
        wanted = self._section.address + _START.size + 2 * self._size
        data = self._file.section(".rela.dyn", _LARGEST_RELOCATIONS) or b""
        for place, _, addend in _RELOCATION.iter_unpack(data[: len(data) // _RELOCATION.size * _RELOCATION.size]):
            if place == wanted:
                return int(addend)
        text = self._file.find_section(_TEXT)
        return text.address if text is not None else 0


def go_functions(file: ElfFile) -> GoFunctions | None:
    """The functions of a file; None without a table of a known layout. Raises ElfError."""
    section = next(filter(None, map(file.find_section, _NAMES)), None)
    if section is None:
        return None
    table = _Table(file, section)
    return GoFunctions(table.part, table.layout, file.costs) if table.layout is not None else None
