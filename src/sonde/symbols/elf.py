"""ELF files: their symbols, and where their bytes go in memory (elf(5), System V ABI chapters 4 and 5).

Only what naming addresses needs: loadable segments, symbol tables and the build id. The file is mapped, and a symbol
table is read at the first question about it.
"""

from __future__ import annotations

import mmap
import struct
from bisect import bisect_right
from functools import cached_property

from sonde.typed import NamedTuple

ET_EXEC, ET_DYN = 2, 3
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_GNU_IFUNC = 0, 1, 2, 10
_STB_LOCAL, _STB_GLOBAL, _STB_WEAK = 0, 1, 2
_SHT_SYMTAB, _SHT_NOTE, _SHT_DYNSYM, _SHT_NOBITS = 2, 7, 11, 8
_SHN_UNDEF, _SHN_ABS = 0, 0xFFF1
_PT_LOAD = 1
_NT_GNU_BUILD_ID = 3
_KINDS = frozenset((STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_GNU_IFUNC))
_NOT_DEFINED = frozenset((_SHN_UNDEF, _SHN_ABS))
_SHIFT = 32
_INDEX = (1 << _SHIFT) - 1
_NEIGHBOURS = 16
"""How many symbols before an address are tried: one that starts nearer may end before it (a label in a function)."""


class ElfError(Exception):
    """The file is not little-endian ELF, or it is cut off."""


class Segment(NamedTuple):
    """A PT_LOAD segment: `file_size` bytes at `offset` are put at `address`; `flags` as in the file (1 executable)."""

    offset: int
    address: int
    file_size: int
    memory_size: int
    flags: int


class Section(NamedTuple):
    name: str
    kind: int
    address: int
    offset: int
    size: int
    link: int
    entry_size: int
    flags: int = 0


class ElfSymbol(NamedTuple):
    """A defined symbol: its link-time address, size in bytes (0 if not known) and STT_* type."""

    address: int
    size: int
    name: str
    kind: int


class _Layout(NamedTuple):
    """The structures of one ELF class."""

    header: struct.Struct
    program: struct.Struct
    section: struct.Struct
    symbol: struct.Struct


_LAYOUTS = {
    1: _Layout(
        struct.Struct("<16xHHIIIIIHHHHHH"), struct.Struct("<8I"), struct.Struct("<10I"), struct.Struct("<IIIBBH")
    ),
    2: _Layout(
        struct.Struct("<16xHHIQQQIHHHHHH"),
        struct.Struct("<IIQQQQQQ"),
        struct.Struct("<IIQQQQIIQQ"),
        struct.Struct("<IBBHQQ"),
    ),
}


class ElfFile:
    """An ELF file of either class, little-endian."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        """Raises ElfError."""
        if len(data) < 20 or data[:4] != b"\x7fELF" or data[4] not in _LAYOUTS or data[5] != 1:
            raise ElfError("not a little-endian ELF file")
        self._data = data
        self._wide = data[4] == 2
        self._layout = _LAYOUTS[data[4]]
        try:
            header = self._layout.header.unpack_from(data)
        except struct.error:
            raise ElfError("the ELF header is cut off") from None
        self.kind, self.machine, _, self.entry, self._programs, self._sections, *_ = header
        self._program_count, self._section_count, self._names = header[9], header[11], header[12]

    @property
    def is_64_bit(self) -> bool:
        return self._wide

    @classmethod
    def open(cls, path: str) -> ElfFile:
        """The ELF file at a path. Raises OSError or ElfError."""
        with open(path, "rb") as file:
            try:
                return cls(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ))
            except ValueError:
                raise ElfError("the file is empty") from None

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The loadable segments."""
        found = []
        for index in range(self._program_count):
            fields = self._unpack(self._layout.program, self._programs + index * self._layout.program.size)
            if self._wide:
                kind, flags, offset, address, _, file_size, memory_size, _ = fields
            else:
                kind, offset, address, _, file_size, memory_size, flags, _ = fields
            if kind == _PT_LOAD:
                found.append(Segment(offset, address, file_size, memory_size, flags))
        return tuple(found)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        size = self._layout.section.size
        raw = [
            self._unpack(self._layout.section, self._sections + index * size) for index in range(self._section_count)
        ]
        names = raw[self._names][4] if self._names < len(raw) else 0
        return tuple(
            Section(self._string(names + name), kind, address, offset, size, link, entry_size, flags)
            for name, kind, flags, address, offset, size, link, _, _, entry_size in raw
        )

    def section(self, name: str) -> bytes | None:
        """The bytes of a section, None if the file has none of that name."""
        for section in self.sections:
            if section.name == name and section.kind != _SHT_NOBITS:
                return self.contents(section)
        return None

    def read(self, offset: int, size: int) -> bytes:
        """Bytes of the file, fewer at its end."""
        return self._data[offset : offset + size]

    def checksum(self) -> int:
        """The CRC-32 of the whole file, by which .gnu_debuglink names it (zlib's polynomial)."""
        from zlib import crc32

        return crc32(self._data)

    def check(self) -> None:
        """Read the tables that all else refers to. Raises ElfError if the file is cut off before their end."""
        _ = self.segments, self.sections

    @property
    def has_symbol_table(self) -> bool:
        """Whether the full symbol table is there, not only the dynamic one."""
        return any(section.kind == _SHT_SYMTAB for section in self.sections)

    @cached_property
    def build_id(self) -> str | None:
        """The build id in hexadecimal digits."""
        for section in self.sections:
            if section.kind == _SHT_NOTE and section.name == ".note.gnu.build-id":
                name_size, size, kind = self._unpack(struct.Struct("<III"), section.offset)
                start = section.offset + 12 + (name_size + 3 & ~3)
                if kind == _NT_GNU_BUILD_ID:
                    return self._data[start : start + size].hex()
        return None

    def address_at(self, offset: int) -> int | None:
        """The link-time address of the byte at a file offset, None if it is not loaded."""
        for segment in self.segments:
            if segment.offset <= offset < segment.offset + segment.file_size:
                return offset - segment.offset + segment.address
        return None

    def offset_of(self, address: int) -> int | None:
        """The file offset of the byte with a link-time address, as uprobes take it; None if the file has it not."""
        for segment in self.segments:
            if segment.address <= address < segment.address + segment.file_size:
                return address - segment.address + segment.offset
        return None

    def bytes_at(self, address: int, size: int) -> bytes:
        """What the file puts at a link-time address, as much of `size` bytes as there is in one segment."""
        for segment in self.segments:
            if segment.address <= address < segment.address + segment.file_size:
                start = address - segment.address + segment.offset
                end = min(start + size, segment.offset + segment.file_size)
                return self._data[start:end]
        return b""

    @cached_property
    def symbols(self) -> tuple[ElfSymbol, ...]:
        """The defined functions, objects and labels, by address; of those at one address the best name last."""
        found = [entry for key in self._keys if (entry := self._entry(key & _INDEX))]
        return tuple(symbol for _, _, symbol in sorted(found))

    def symbolize(self, address: int) -> tuple[str, int] | None:
        """The name of the symbol that has a link-time address in it, and the distance from its start.

        Of several it is the one that starts last; one without a size goes as far as the next symbol.
        """
        keys = self._keys
        at = bisect_right(keys, address << _SHIFT | _INDEX)
        nearest = keys[at - 1] >> _SHIFT if at else 0
        best: tuple[int, tuple[int, int, str], ElfSymbol] | None = None
        for key in keys[max(at - _NEIGHBOURS, 0) : at]:
            entry = self._entry(key & _INDEX)
            if entry is None:
                continue
            start, _, symbol = entry
            inside = address < start + symbol.size or (not symbol.size and start == nearest)
            if inside and (best is None or entry > best):
                best = entry
        return (best[2].name, address - best[0]) if best else None

    def find(self, name: str) -> tuple[ElfSymbol, ...]:
        """The symbols of a name: more than one where files of the program have a static of that name each."""
        return self._by_name.get(name, ())

    @cached_property
    def _by_name(self) -> dict[str, tuple[ElfSymbol, ...]]:
        found: dict[str, tuple[ElfSymbol, ...]] = {}
        for symbol in self.symbols:
            found[symbol.name] = (*found.get(symbol.name, ()), symbol)
        return found

    @cached_property
    def _table(self) -> tuple[bytes, bytes]:
        """The symbol table, the dynamic one if there is no other, and its strings."""
        for kind in (_SHT_SYMTAB, _SHT_DYNSYM):
            for section in self.sections:
                if section.kind == kind:
                    if section.link >= len(self.sections):
                        raise ElfError("a symbol table without strings")
                    return self.contents(section), self.contents(self.sections[section.link])
        return b"", b""

    @cached_property
    def _keys(self) -> list[int]:
        """Address and index of each defined symbol, packed in one integer, sorted: nothing else is made of them until
        they are asked for, since large programs have a hundred thousand."""
        table, layout = self._table[0], self._layout.symbol
        entries = layout.iter_unpack(table[: len(table) // layout.size * layout.size])
        if self._wide:
            found = [
                address << _SHIFT | number
                for number, (_, info, _, index, address, _) in enumerate(entries)
                if info & 15 in _KINDS and index not in _NOT_DEFINED
            ]
        else:
            found = [
                address << _SHIFT | number
                for number, (_, address, _, info, _, index) in enumerate(entries)
                if info & 15 in _KINDS and index not in _NOT_DEFINED
            ]
        found.sort()
        return found

    def _entry(self, number: int) -> tuple[int, tuple[int, int, str], ElfSymbol] | None:
        """(address, rank, symbol) of an entry of the table, None if its name is the compiler's own."""
        table, strings = self._table
        layout = self._layout.symbol
        fields = layout.unpack_from(table, number * layout.size)
        if self._wide:
            name, info, _, _, address, size = fields
        else:
            name, address, size, info, _, _ = fields
        spelling = strings[name : strings.find(b"\0", name)].decode(errors="replace")
        if not spelling or spelling.startswith(("$", ".L")):
            return None
        symbol = ElfSymbol(address, size, spelling, info & 15)
        return address, _rank(symbol, info >> 4), symbol

    def dynamic_name(self, number: int) -> str:
        """The name of a symbol of the dynamic table, "" if there is none of that number."""
        table, strings = self._dynamic
        layout = self._layout.symbol
        if (number + 1) * layout.size > len(table):
            return ""
        name = layout.unpack_from(table, number * layout.size)[0]
        return strings[name : strings.find(b"\0", name)].decode(errors="replace")

    @cached_property
    def _dynamic(self) -> tuple[bytes, bytes]:
        for section in self.sections:
            if section.kind == _SHT_DYNSYM and section.link < len(self.sections):
                return self.contents(section), self.contents(self.sections[section.link])
        return b"", b""

    def contents(self, section: Section) -> bytes:
        """The bytes of a section, as far as the file has them."""
        return self._data[section.offset : section.offset + section.size]

    def _string(self, offset: int) -> str:
        if offset >= len(self._data):
            raise ElfError("a name is beyond the end of the file")
        return self._data[offset : self._data.find(b"\0", offset)].decode(errors="replace")

    def _unpack(self, layout: struct.Struct, offset: int) -> tuple[int, ...]:
        try:
            return layout.unpack_from(self._data, offset)
        except (struct.error, OverflowError):
            raise ElfError("the ELF file is cut off") from None


def _rank(symbol: ElfSymbol, binding: int) -> tuple[int, int, str]:
    """How good a name is among those of one address: one with a size, then global before weak before local, then the
    name with the fewest underscores in front, as the one people use."""
    strength = {_STB_GLOBAL: 2, _STB_WEAK: 1}.get(binding, 0)
    underscores = len(symbol.name) - len(symbol.name.lstrip("_"))
    return (1 if symbol.size else 0) * 3 + strength, -underscores, symbol.name
