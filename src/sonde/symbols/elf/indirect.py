"""Which function stands behind an indirect one (STT_GNU_IFUNC): its symbol is that of a resolver, which runs when the
dynamic linker relocates, and what it has chosen is in the tables that calls go through."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator

from sonde.arch import object_files, pages
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.typed import NamedTuple

_RELOCATION = struct.Struct("<QQq")
_RELA = 4
_PIECE = _RELOCATION.size << 12

ReadWord = Callable[[int], int | None]
"""The 64 bits at an address of the process, None if they cannot be read."""


class Loaded(NamedTuple):
    """An ELF file in a process: `bias` is how far from its linked addresses it is."""

    file: ElfFile
    bias: int


class FunctionSlots:
    """The words of a process that hold addresses of functions, by what they were made for."""

    def __init__(self, everywhere: Iterable[Loaded]) -> None:
        self._by_name: dict[str, list[int]] = {}
        self._by_resolver: dict[int, list[int]] = {}
        for each in everywhere:
            self._add(each)

    def _add(self, each: Loaded) -> None:
        for offset, kind, number, addend in relocations(each.file):
            if kind == object_files.INDIRECT:
                self._by_resolver.setdefault(each.bias + addend, []).append(each.bias + offset)
            elif kind in object_files.OF_SYMBOLS and not addend:
                self._by_name.setdefault(each.file.dynamic_name(number), []).append(each.bias + offset)

    def of(self, resolver: int, names: Iterable[str]) -> Iterator[int]:
        """Addresses of those for a function with these names, whose resolver is at this address."""
        yield from self._by_resolver.get(resolver, ())
        for name in names:
            yield from self._by_name.get(name, ())


def chosen(home: Loaded, resolver: int, names: Iterable[str], slots: FunctionSlots, read: ReadWord) -> int | None:
    """The linked address, in the file that has the resolver, of what it has chosen; None if nothing tells.

    `resolver` is the linked address of the symbol, `names` are those it has.
    """
    for address in slots.of(home.bias + resolver, names):
        value = read(address)
        # Before it is written a slot leads to the resolver, or back to where calls come through.
        if value is not None and value - home.bias != resolver and _is_code(home.file, value - home.bias):
            return value - home.bias
    return None


def relocations(file: ElfFile) -> Iterator[tuple[int, int, int, int]]:
    """Offset, type, number of the dynamic symbol and addend of each that the dynamic linker applies."""
    for section in file.sections:
        if section.kind == _RELA:
            data = file.part(section)
            whole = len(data) // _RELOCATION.size * _RELOCATION.size
            for start in range(0, whole, _PIECE):
                file.costs.check()
                for offset, info, addend in _RELOCATION.iter_unpack(data[start : min(start + _PIECE, whole)]):
                    yield offset, info & 0xFFFFFFFF, info >> 32, addend


def _is_code(file: ElfFile, address: int) -> bool:
    """Whether there are instructions, others than those of a procedure linkage table."""
    if any(s.name.startswith(".plt") and s.address <= address < s.address + s.size for s in file.sections):
        return False
    return any(s.flags & 1 and s.address <= address < s.address + s.file_size for s in file.segments)


def bias_of(file: ElfFile, start: int, offset: int, page: int = pages.PAGE) -> int:
    """How far from its linked addresses a file is, one of whose segments of code is mapped at `start` from `offset` on.

    Raises ElfError if none is.
    """
    for segment in file.segments:
        if segment.flags & 1 and segment.offset & -page == offset:
            return start - (segment.address & -page)
    raise ElfError("the file has no such segment")
