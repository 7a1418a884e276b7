"""The static probes of programs that were built with DTrace's own -h and -G: a section with DOF, the DTrace Object
Format (dtrace/dof.h; Dynamic Tracing Guide, "Statically Defined Tracing for User Applications"), as notes.

A site was a call of a function that does not exist, and is nops, so its arguments are where a call would have them.
What a definition maps (`probe p(int a, long b) : (long b, int a)`) is seen in the order of the second list.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from sonde.arch import instructions, object_files, operands
from sonde.symbols.elf.file import ElfFile, Section
from sonde.symbols.elf.static_note import Note
from sonde.typed import NamedTuple

SECTION = ".SUNW_dof"

_MAGIC = b"\x7fDOF"
_HEADER = struct.Struct("<16s4IQQQQ")
_SECTION = struct.Struct("<4IQQ")
_PROVIDER = struct.Struct("<5I")
_PROBE = struct.Struct("<Q6IBBH")
_STRINGS, _PROVIDERS = 8, 15
_LARGEST = 16 << 20
_MOST_SITES = 1 << 16
_RELOCATION = struct.Struct("<QQq")
"""Of .rela.dyn: where, symbol and type, and what is added (Elf64_Rela)."""

_SYMBOL = struct.Struct("<IBBHQQ")
_LONGEST_NAME = 256

_SIZES = {"char": 1, "short": 2, "int": 4, "long": 8, "int8_t": 1, "int16_t": 2, "int32_t": 4, "int64_t": 8,
          "pid_t": 4, "ssize_t": 8, "intptr_t": 8, "ptrdiff_t": 8, "off_t": 8, "time_t": 8}  # fmt: skip
_UNSIGNED = {"uchar_t": 1, "ushort_t": 2, "uint_t": 4, "ulong_t": 8, "uint8_t": 1, "uint16_t": 2, "uint32_t": 4,
             "uint64_t": 8, "size_t": 8, "uintptr_t": 8, "uid_t": 4, "gid_t": 4, "mode_t": 4, "_Bool": 1,
             "bool": 1}  # fmt: skip
_QUALIFIERS = ("const", "volatile", "restrict", "struct", "union", "enum")


class _Part(NamedTuple):
    """A section of the DOF."""

    kind: int
    entry_size: int
    data: bytes


class _CutError(Exception):
    """The DOF is cut off or damaged."""


def notes_of_dof(file: ElfFile) -> list[Note]:
    """Its probes' sites as notes, at the addresses that the file has; none of DOF that is damaged. Raises ElfError."""
    found: list[Note] = []
    for section in file.sections:
        if section.name == SECTION and section.address:
            try:
                found += _notes(file, section, file.contents(section, _LARGEST))
            except (_CutError, struct.error, ValueError, IndexError, OverflowError):
                continue
    return found


def _notes(file: ElfFile, section: Section, data: bytes) -> Iterator[Note]:
    # A file that was linked of several has several, one behind the other.
    at, left = 0, _MOST_SITES
    while True:
        at = data.find(_MAGIC, at)
        if at < 0:
            return
        parts, size = _parts(data[at:])
        for _, part in parts:
            if part.kind == _PROVIDERS:
                for note in _of_provider(file, section.address + at, parts, part):
                    left -= 1
                    if left < 0:
                        return
                    file.costs.take(_LONGEST_NAME)
                    yield note
        at += max(size, len(_MAGIC))


def _parts(data: bytes) -> tuple[list[tuple[int, _Part]], int]:
    """The sections with where each begins, and the size of it all."""
    _, _, header_size, size, count, start, _, whole, _ = _HEADER.unpack_from(data)
    if size < _SECTION.size or header_size < _HEADER.size or start + count * size > len(data):
        raise _CutError
    found = []
    for number in range(count):
        kind, _, _, entry_size, offset, length = _SECTION.unpack_from(data, start + number * size)
        found.append((offset, _Part(kind, entry_size, data[offset : offset + length])))
    return found, whole


def _of_provider(file: ElfFile, address: int, parts: Sequence[tuple[int, _Part]], part: _Part) -> Iterator[Note]:
    strings, probes, mappings, offsets, name = _PROVIDER.unpack_from(part.data)
    texts = parts[strings][1].data
    start, table = parts[probes]
    if parts[strings][1].kind != _STRINGS or table.entry_size < _PROBE.size:
        raise _CutError
    provider = _text(texts, name)
    for at in range(0, len(table.data) - table.entry_size + 1, table.entry_size):
        base, function, probe, native, _, mapped, first, has, shows, count = _PROBE.unpack_from(table.data, at)
        where = _linked(file, address + start + at, base, _text(texts, function))
        if where is None:
            continue
        types = list(_texts(texts, native, has))
        order = parts[mappings][1].data[mapped : mapped + shows] if shows else b""
        for (offset,) in struct.iter_unpack("<I", parts[offsets][1].data[4 * first : 4 * (first + count)]):
            location = where + offset
            is_tail = file.bytes_at(location, 1) == instructions.RETURN
            arguments = _arguments(types, order, is_tail)
            yield Note(provider, _text(texts, probe), location, 0, 0, arguments)


def _linked(file: ElfFile, place: int, base: int, function: str) -> int | None:
    """The function's address as the file has it: there, in a relocation for there, or by its name."""
    if base and file.bytes_at(base, 1):
        return base
    relocations = file.section(".rela.dyn", _LARGEST) or b""
    for offset, information, added in _RELOCATION.iter_unpack(_whole(relocations)):
        if offset == place and information & 0xFFFFFFFF in object_files.OF_ADDRESSES:
            value = _dynamic_symbol(file, information >> 32) if information >> 32 else 0
            return value + added if value is not None else None
    found = {symbol.address for symbol in file.find(function)}
    return found.pop() if len(found) == 1 else None


def _whole(relocations: bytes) -> bytes:
    return relocations[: len(relocations) // _RELOCATION.size * _RELOCATION.size]


def _dynamic_symbol(file: ElfFile, number: int) -> int | None:
    data = file.section(".dynsym", _LARGEST) or b""
    if (number + 1) * _SYMBOL.size > len(data):
        return None
    value: int = _SYMBOL.unpack_from(data, number * _SYMBOL.size)[4]
    return value or None


def _arguments(types: Sequence[str], order: bytes, is_tail: bool) -> str:
    """The operands, as an assembler would have them, in the order in which they are shown."""
    places: list[str] = []
    integers = 0
    for type_ in types:
        if type_ in ("float", "double"):
            places.append(f"{4 if type_ == 'float' else 8}f@{operands.FLOAT}")
            continue
        size, is_signed = _size(type_)
        if integers < len(operands.ARGUMENTS[8]):
            operand = operands.argument(size, integers)
        else:
            # The return address is on top of the stack where the call was a jump, and else would be.
            operand = operands.on_stack(8 * (integers - len(operands.ARGUMENTS[8]) + is_tail))
        places.append(f"{'-' if is_signed else ''}{size}@{operand}")
        integers += 1
    return " ".join(places[number] for number in (order or range(len(places))) if number < len(places))


def _size(type_: str) -> tuple[int, bool]:
    """Bytes, and whether it is signed, of a type as C writes it; a long where it is of another name."""
    if "*" in type_ or "[" in type_:
        return 8, False
    words = [word for word in type_.split() if word not in _QUALIFIERS]
    if words and words[-1] in _UNSIGNED:
        return _UNSIGNED[words[-1]], False
    is_signed = "unsigned" not in words
    known = [_SIZES[word] for word in words if word in _SIZES]
    if "long" in words:
        return 8, is_signed
    return (min(known), is_signed) if known else ((4, is_signed) if words == ["unsigned"] else (8, is_signed))


def _texts(data: bytes, offset: int, count: int) -> Iterator[str]:
    """So many strings, one behind the other."""
    for _ in range(count):
        text = _text(data, offset)
        yield text
        offset += len(text.encode()) + 1


def _text(data: bytes, offset: int) -> str:
    end = data.find(b"\0", offset, offset + _LONGEST_NAME)
    if offset > len(data) or end < 0:
        raise _CutError
    return data[offset:end].decode(errors="replace")
