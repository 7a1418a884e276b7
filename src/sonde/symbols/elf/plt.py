"""Names for procedure linkage tables: each entry jumps where a word says that the dynamic linker fills in, so the
relocation of that word tells whose it is (System V ABI, AMD64 supplement, 5.2)."""

from __future__ import annotations

import struct
from functools import cached_property

from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.indirect import relocations

_JUMP = b"\xff\x25"
"""jmp *displacement(%rip), perhaps behind endbr64 or bnd."""

_DISPLACEMENT = struct.Struct("<i")
_ENTRY = 16
_IRELATIVE = 37
_SIZE = 200
"""Bytes of memory that the name of a word takes besides its characters, about."""


class Linkage:
    """The tables of one file."""

    def __init__(self, file: ElfFile) -> None:
        self._file = file

    @cached_property
    def _tables(self) -> tuple[tuple[int, int, int], ...]:
        """Where each begins and ends, and the size of its entries."""
        try:
            sections = self._file.sections
        except ElfError:
            return ()
        found = (s for s in sections if s.name.startswith(".plt") and s.flags & 4)
        return tuple(
            (s.address, s.address + s.size, s.entry_size if s.entry_size in (8, 16) else _ENTRY) for s in found
        )

    @cached_property
    def _names(self) -> dict[int, str]:
        """By the address of the word."""
        try:
            found: dict[int, str] = {}
            for at, kind, number, addend in relocations(self._file):
                if not number and kind != _IRELATIVE:
                    continue
                symbol = self._file.symbolize(addend) if kind == _IRELATIVE else None
                name = symbol[0] if symbol else self._file.dynamic_name(number)
                if name and not (kind == _IRELATIVE and not symbol):
                    found[at] = name
                    self._file.costs.take(len(name) + _SIZE)
            return found
        except (ElfError, struct.error):
            return {}

    def symbolize(self, address: int) -> tuple[str, int] | None:
        """`name@plt` of the entry that a link-time address is in, `plt` of one that belongs to nobody, and the distance
        from the entry's start; None outside of the tables."""
        for start, end, size in self._tables:
            if start <= address < end:
                offset = (address - start) % size
                entry = address - offset
                return self._of_entry(entry, self._file.bytes_at(entry, size)), offset
        return None

    def _of_entry(self, entry: int, code: bytes) -> str:
        at = code.find(_JUMP)
        if at < 0 or len(code) < at + 6:
            return "plt"
        word = entry + at + 6 + _DISPLACEMENT.unpack_from(code, at + 2)[0]
        name = self._names.get(word)
        return f"{name}@plt" if name else "plt"
