"""Relocatable files, as modules of the kernel are, as if they were linked: each section of memory gets an address, and
what the debug information says of addresses is made to fit (System V ABI, chapter 4: relocation).

What comes out is an ElfFile like that of any program, so whoever reads debug information need not know.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sonde.arch import object_files
from sonde.symbols.dwarf.compression import unpacked_section
from sonde.symbols.elf.errors import ElfError
from sonde.symbols.elf.file import ET_EXEC, ElfFile, Section
from sonde.typed import NamedTuple

_HEADER, _PROGRAM = struct.Struct("<HHIQQQIHHHHHH"), struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL, _RELOCATION = struct.Struct("<IBBHQQ"), struct.Struct("<QQq")
_WORDS = {4: struct.Struct("<I"), 8: struct.Struct("<Q")}
_SHT_PROGBITS, _SHT_SYMTAB, _SHT_RELA, _SHT_NOBITS = 1, 2, 4, 8
_WRITE, _ALLOC, _EXECUTE, _COMPRESSED = 1, 2, 4, 0x800
_PT_LOAD = 1
_MARK = 16
"""Bytes of e_ident, with which a file begins."""

_RESERVED = 0xFF00
_LARGEST = 256 << 20
_ADDRESS_SIZE = 40
"""Bytes of memory that the address of a symbol takes."""

_PIECE = 1 << 15
"""Relocations that are applied before it is asked what that has taken."""


class _Placed(NamedTuple):
    """A section, and where it is in memory and in the file that is made."""

    section: Section
    address: int
    offset: int
    size: int
    kind: int


def relocated(elf: ElfFile, code: ElfFile | None = None) -> ElfFile:
    """The file as if it were linked; what it has no content of, as files with debug information alone have none, is
    taken from `code`, by the names of the sections. Raises ElfError, DebugInfoError or CostError."""
    if not elf.is_64_bit or elf.machine != object_files.MACHINE:
        raise ElfError("a relocatable file of another machine")
    if elf.size > _LARGEST:
        elf.costs.refuse(f"it has more than {_LARGEST >> 20} MiB")
    with elf.costs:
        data = bytearray(elf.read(0, elf.size))
        placed = _place(elf, data, code)
        addresses = _symbols(elf, data, placed)
        for each in placed:
            target = placed[each.section.info] if each.section.info < len(placed) else None
            if each.kind == _SHT_RELA and target is not None and not target.section.flags & _EXECUTE:
                _apply(elf, data, each, target, addresses.get(each.section.link, ()))
        _finish(data, placed)
    return ElfFile(bytes(data), elf.costs)


def _place(elf: ElfFile, data: bytearray, code: ElfFile | None) -> list[_Placed]:
    """Where each section is; content that is packed, or that another file has, is put behind the rest."""
    found: list[_Placed] = []
    next_address = object_files.RELOCATABLE
    for each in elf.sections:
        address, offset, size, kind = 0, each.offset, each.size, each.kind
        content = None
        if each.flags & _COMPRESSED:
            content = unpacked_section(elf, each)
        elif each.kind == _SHT_NOBITS and each.flags & _ALLOC and code is not None:
            content = code.section(each.name)
        if content is not None:
            elf.costs.take(len(content))
            data += bytes(-len(data) % 16)
            offset, size = len(data), len(content)
            kind = _SHT_PROGBITS if kind == _SHT_NOBITS else kind
            data += content
        if each.flags & _ALLOC:
            step = max(each.alignment, 1)
            address = -(-next_address // step) * step
            next_address = address + max(size, 1)
        if kind != _SHT_NOBITS and offset + size > len(data):
            raise ElfError("a section is beyond the end of the file")
        found.append(_Placed(each, address, offset, size, kind))
    if next_address >= 1 << 64:
        raise ElfError("its sections are larger than memory")
    return found


def _symbols(elf: ElfFile, data: bytearray, placed: Sequence[_Placed]) -> dict[int, list[int]]:
    """The addresses of the symbols, by the number of their table; the table gets them, too."""
    found: dict[int, list[int]] = {}
    for number, table in enumerate(placed):
        if table.kind != _SHT_SYMTAB:
            continue
        addresses = found.setdefault(number, [])
        elf.costs.take(table.size // _SYMBOL.size * _ADDRESS_SIZE)
        elf.costs.check()
        for at in range(table.offset, table.offset + table.size // _SYMBOL.size * _SYMBOL.size, _SYMBOL.size):
            name, info, other, index, value, size = _SYMBOL.unpack_from(data, at)
            if 0 < index < min(len(placed), _RESERVED):
                value = value + placed[index].address & (1 << 64) - 1
                _SYMBOL.pack_into(data, at, name, info, other, index, value, size)
            addresses.append(value if index else 0)
    return found


def _apply(elf: ElfFile, data: bytearray, table: _Placed, target: _Placed, addresses: Sequence[int]) -> None:
    absolute, relative = object_files.ABSOLUTE, object_files.RELATIVE
    count = table.size // _RELOCATION.size
    entries = memoryview(bytes(data[table.offset : table.offset + count * _RELOCATION.size]))
    start, most = target.offset, target.size
    masks = {size: (1 << 8 * size) - 1 for size in _WORDS}
    writers = {size: word.pack_into for size, word in _WORDS.items()}
    for first in range(0, len(entries), _PIECE * _RELOCATION.size):
        elf.costs.check()
        for place, info, addend in _RELOCATION.iter_unpack(entries[first : first + _PIECE * _RELOCATION.size]):
            kind, symbol = info & 0xFFFFFFFF, info >> 32
            if symbol >= len(addresses):
                raise ElfError("a relocation names a symbol that is not there")
            value = addresses[symbol] + addend
            size = absolute.get(kind)
            if size is None:
                size = relative.get(kind)
                value -= target.address + place
                if size is None:
                    continue
            if place + size > most:
                raise ElfError("a relocation is beyond the end of its section")
            writers[size](data, start + place, value & masks[size])


def _finish(data: bytearray, placed: Sequence[_Placed]) -> None:
    """Section headers with addresses, program headers behind all else, and the kind of a program."""
    header = list(_HEADER.unpack_from(data, _MARK))
    sections = header[5]
    for number, each in enumerate(placed):
        at = sections + number * _SECTION.size
        fields = list(_SECTION.unpack_from(data, at))
        fields[1], fields[3], fields[4], fields[5] = each.kind, each.address, each.offset, each.size
        fields[2] &= ~_COMPRESSED
        _SECTION.pack_into(data, at, *fields)
    data += bytes(-len(data) % 8)
    loads = [each for each in placed if each.section.flags & _ALLOC and each.size]
    programs = len(data)
    for each in loads:
        rights = 4 | (2 if each.section.flags & _WRITE else 0) | (1 if each.section.flags & _EXECUTE else 0)
        there = 0 if each.kind == _SHT_NOBITS else each.size
        data += _PROGRAM.pack(_PT_LOAD, rights, each.offset, each.address, each.address, there, each.size, 1)
    # e_type, e_phoff, e_phentsize and e_phnum.
    header[0], header[4], header[8], header[9] = ET_EXEC, programs, _PROGRAM.size, len(loads)
    _HEADER.pack_into(data, _MARK, *header)
