"""Names for procedure linkage tables: each entry jumps where a word says that the dynamic linker fills in, so the
relocation of that word tells whose it is."""

from __future__ import annotations

import struct
from functools import cached_property

from sonde.arch import instructions, object_files, unwinding
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.indirect import relocations

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
            (s.address, s.address + s.size, s.entry_size if s.entry_size in (8, 16) else unwinding.LINKAGE_ENTRY)
            for s in found
        )

    @cached_property
    def _names(self) -> dict[int, str]:
        """By the address of the word."""
        try:
            found: dict[int, str] = {}
            for at, kind, number, addend in relocations(self._file):
                if not number and kind != object_files.INDIRECT:
                    continue
                symbol = self._file.symbolize(addend) if kind == object_files.INDIRECT else None
                name = symbol[0] if symbol else self._file.dynamic_name(number)
                if name and not (kind == object_files.INDIRECT and not symbol):
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
        word = instructions.jump_through(code, entry)
        name = self._names.get(word) if word is not None else None
        return f"{name}@plt" if name else "plt"
