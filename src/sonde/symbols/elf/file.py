"""ELF files: their symbols, and where their bytes go in memory (elf(5), System V ABI chapters 4 and 5).

Only what naming addresses needs: loadable segments, symbol tables and the build id. The file is mapped, and a symbol
table is read at the first question about it.
"""

from __future__ import annotations

import os
import struct
from functools import cached_property

from sonde import others
from sonde.arch import object_files
from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.errors import ElfError as ElfError
from sonde.symbols.elf.file_bytes import FileBytes, Part
from sonde.symbols.elf.notes import note_of
from sonde.symbols.elf.symbol_table import ElfSymbol, SymbolTable
from sonde.typed import NamedTuple
from sonde.untrusted import open_held

ET_REL, ET_EXEC, ET_DYN = 1, 2, 3
_SHT_SYMTAB, _SHT_NOTE, _SHT_DYNSYM, _SHT_NOBITS = 2, 7, 11, 8
_SHF_ALLOC = 2
_PT_LOAD, _PT_TLS = 1, 7
_DT_FLAGS_1, _DF_1_PIE = 0x6FFFFFFB, 0x08000000
_SECTION_SIZE = 400
"""Bytes of memory that a section takes, about."""

_CHUNK, _LARGEST_CHECKED = 1 << 20, 1 << 32
_LARGEST_HEADER = 64
_LONGEST_NAME = 1 << 10
"""Bytes of a section's name that are looked at."""

_BUILD_ID_NOTES = (".note.gnu.build-id", ".notes", ".note")
"""The others are where the kernel's linker scripts put the notes of vmlinux and of the vdso."""

_LARGEST_NOTES = 1 << 12
_LARGEST_DYNAMIC = 1 << 20
_LARGEST_TABLE = 48 << 20
"""Bytes of a symbol table that are read, two million entries; the rest of a larger one is left out."""

LARGE = 4 << 20
"""A section of more bytes is read where it is looked at, not as a whole, if who asks can do with that."""


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
    info: int = 0
    alignment: int = 1


class _Layout(NamedTuple):
    """The structures of one ELF class."""

    header: struct.Struct
    program: struct.Struct
    section: struct.Struct


_LAYOUTS = {
    1: _Layout(struct.Struct("<16xHHIIIIIHHHHHH"), struct.Struct("<8I"), struct.Struct("<10I")),
    2: _Layout(struct.Struct("<16xHHIQQQIHHHHHH"), struct.Struct("<IIQQQQQQ"), struct.Struct("<IIQQQQIIQQ")),
}


class ElfFile:
    """An ELF file of either class, little-endian."""

    def __init__(self, data: bytes | FileBytes, costs: Costs | None = None) -> None:
        """`costs` are those of a file that is read already. Raises ElfError."""
        self.costs = data.costs if isinstance(data, FileBytes) else costs or Costs()
        start = data[:_LARGEST_HEADER]
        if len(start) < 20 or start[:4] != b"\x7fELF" or start[4] not in _LAYOUTS or start[5] != 1:
            raise ElfError("not a little-endian ELF file")
        self._data = data
        self._wide = start[4] == 2
        self._layout = _LAYOUTS[start[4]]
        try:
            header = self._layout.header.unpack_from(start)
        except struct.error:
            raise ElfError("the ELF header is cut off") from None
        self.kind, self.machine, _, self.entry, self._programs, self._sections, *_ = header
        self._program_count, self._section_count, self._names = header[9], header[11], header[12]

    @property
    def on_disk(self) -> int:
        """The bytes of the file that are not holes: so much somebody has really written."""
        return self._data.on_disk if isinstance(self._data, FileBytes) else len(self._data)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return len(self._data)

    @property
    def changed(self) -> int:
        """When the file was last changed, in ns since 1970; 0 for bytes in memory."""
        return self._data.changed if isinstance(self._data, FileBytes) else 0

    @property
    def identity(self) -> tuple[int, int]:
        """The device and the inode number of the file that is read; (0, 0) for bytes in memory."""
        return self._data.identity if isinstance(self._data, FileBytes) else (0, 0)

    @property
    def pinned(self) -> int:
        """Bytes of the disk that are taken only because the file is open."""
        return self.on_disk if isinstance(self._data, FileBytes) and self._data.is_deleted else 0

    @property
    def owner(self) -> int:
        """The user whose file it is; of bytes in memory -1."""
        return self._data.owner if isinstance(self._data, FileBytes) else -1

    @property
    def is_trusted(self) -> bool:
        """Whether the file is this user's or root's, and nobody else may write to it; bytes in memory are not."""
        return isinstance(self._data, FileBytes) and self._data.is_trusted

    @property
    def is_64_bit(self) -> bool:
        return self._wide

    @classmethod
    def open(cls, path: str, costs: Costs | None = None) -> ElfFile:
        """The ELF file at a path; `costs` are those of the object that it belongs to. Raises OSError or ElfError."""
        place, status = others.held(path)
        try:
            descriptor = open_held(place, path)
        finally:
            os.close(place)
        return cls(FileBytes(descriptor, costs, (status.st_dev, status.st_ino)))

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The loadable segments."""
        return tuple(segment for kind, segment, _ in self._program_headers if kind == _PT_LOAD)

    @cached_property
    def thread_block(self) -> int:
        """Where a thread's own data of a program begin, from the thread pointer; 0 if there are none."""
        for kind, segment, alignment in self._program_headers:
            if kind == _PT_TLS:
                return object_files.thread_block(segment.memory_size, alignment)
        return 0

    @property
    def is_position_independent_program(self) -> bool:
        """Whether its dynamic section says so, which distinguishes it from a library (DF_1_PIE of DT_FLAGS_1)."""
        data = self.section(".dynamic", _LARGEST_DYNAMIC) or b""
        pairs = struct.iter_unpack("<QQ", data[: len(data) // 16 * 16])
        return self._wide and any(tag == _DT_FLAGS_1 and value & _DF_1_PIE for tag, value in pairs)

    @cached_property
    def _program_headers(self) -> list[tuple[int, Segment, int]]:
        """The kind, place and alignment (at least 1) of each."""
        found = []
        for index in range(self._program_count):
            fields = self._unpack(self._layout.program, self._programs + index * self._layout.program.size)
            if self._wide:
                kind, flags, offset, address, _, file_size, memory_size, alignment = fields
            else:
                kind, offset, address, _, file_size, memory_size, flags, alignment = fields
            found.append((kind, Segment(offset, address, file_size, memory_size, flags), max(alignment, 1)))
        return found

    def thread_offset(self, name: str) -> int | None:
        """Where a program's own thread-local variable is, counted from the thread pointer. None if there is none."""
        place = self.table.thread_data(name) if self._wide else None
        return None if place is None else place + self.thread_block

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        size = self._layout.section.size
        raw = [
            self._unpack(self._layout.section, self._sections + index * size) for index in range(self._section_count)
        ]
        names = raw[self._names][4] if self._names < len(raw) else 0
        found = tuple(
            Section(self._string(names + name), kind, address, offset, size, link, entry_size, flags, info, alignment)
            for name, kind, flags, address, offset, size, link, info, alignment, entry_size in raw
        )
        self.costs.take(sum(len(each.name) + _SECTION_SIZE for each in found))
        return found

    def section(self, name: str, most: int | None = None) -> bytes | None:
        """The bytes of a section, the first `most` of them, None if the file has none of that name."""
        section = self.find_section(name)
        return None if section is None else self.contents(section, most)

    def find_section(self, name: str) -> Section | None:
        """The first section of that name of which the file has bytes: there may be several."""
        return next((each for each in self.sections if each.name == name and each.kind != _SHT_NOBITS), None)

    def read(self, offset: int, size: int) -> bytes:
        """Bytes of the file, fewer at its end."""
        return self._data[offset : offset + size]

    def checksum(self) -> int | None:
        """The CRC-32 of the whole file, by which .gnu_debuglink names it (zlib's polynomial); None for one of more
        than 4 GiB."""
        from zlib import crc32  # files of debug information alone need it

        if len(self._data) > _LARGEST_CHECKED:
            return None
        found = 0
        for start in range(0, len(self._data), _CHUNK):
            found = crc32(self._data[start : start + _CHUNK], found)
            self.costs.check()
        return found

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
            if section.kind == _SHT_NOTE and section.name in _BUILD_ID_NOTES:
                found = note_of(self.contents(section, _LARGEST_NOTES))
                if found:
                    return found.hex()
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

    def symbolize(self, address: int) -> tuple[str, int] | None:
        """The name of the symbol that has a link-time address in it, and the distance from its start."""
        return self.table.symbolize(address)

    def symbol_around(self, address: int) -> ElfSymbol | None:
        """The symbol that has a link-time address in it."""
        return self.table.around(address)

    def find(self, name: str) -> tuple[ElfSymbol, ...]:
        """The symbols of a name: more than one where files of the program have a static of that name each."""
        return tuple(each for each in self.table.named(name) if each.name == name)

    def find_exported(self, name: str) -> ElfSymbol | None:
        """The symbol of that name in the dynamic table, which is small however large the other is."""
        return next((each for each in self._dynamic.named(name) if each.name == name), None)

    @cached_property
    def table(self) -> SymbolTable:
        """The symbol table, the dynamic one if there is no other. Raises ElfError."""
        for kind in (_SHT_SYMTAB, _SHT_DYNSYM):
            for section in self.sections:
                if section.kind == kind:
                    if section.link >= len(self.sections):
                        raise ElfError("a symbol table without strings")
                    return self._symbol_table(section)
        return SymbolTable(b"", b"", self._wide, self.costs)

    def dynamic_name(self, number: int) -> str:
        """The name of a symbol of the dynamic table, "" if there is none of that number."""
        return self._dynamic.name(number)

    @cached_property
    def _dynamic(self) -> SymbolTable:
        for section in self.sections:
            if section.kind == _SHT_DYNSYM and section.link < len(self.sections):
                return self._symbol_table(section)
        return SymbolTable(b"", b"", self._wide, self.costs)

    def _symbol_table(self, section: Section) -> SymbolTable:
        table = self.contents(section, _LARGEST_TABLE)
        self.costs.take(len(table))
        return SymbolTable(table, self.part(self.sections[section.link]), self._wide, self.costs, self._unloaded)

    @cached_property
    def _unloaded(self) -> frozenset[int]:
        """The numbers of sections that are in no process's memory."""
        return frozenset(number for number, each in enumerate(self.sections) if number and not each.flags & _SHF_ALLOC)

    def contents(self, section: Section, most: int | None = None) -> bytes:
        """The bytes of a section, as far as the file has them, the first `most` of them. Raises CostError."""
        size = section.size if most is None else min(section.size, most)
        return self._data[section.offset : section.offset + size]

    def part(self, section: Section) -> Part:
        """The bytes of a section that may be large: those of one that is are read when they are asked for."""
        if not isinstance(self._data, FileBytes) or section.size <= LARGE:
            return self.contents(section)
        return self._data.window(section.offset, section.size)

    def _string(self, offset: int) -> str:
        if offset >= len(self._data):
            raise ElfError("a name is beyond the end of the file")
        return self._data[offset : offset + _LONGEST_NAME].partition(b"\0")[0].decode(errors="replace")

    def _unpack(self, layout: struct.Struct, offset: int) -> tuple[int, ...]:
        try:
            return layout.unpack(self._data[offset : offset + layout.size])
        except (struct.error, OverflowError):
            raise ElfError("the ELF file is cut off") from None
