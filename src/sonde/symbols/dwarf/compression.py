"""Sections of an ELF file as they were before compression (System V ABI, `Chdr`; .zdebug_* of older GNU tools)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from importlib import import_module

from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.elf.file import ElfFile, Section
from sonde.symbols.elf.file_bytes import Part

_SHF_COMPRESSED = 0x800
_ZLIB, _ZSTD = 1, 2
_SHT_NOBITS = 8
_SEVERAL = (".debug_info.dwo", ".debug_types.dwo")
"""Sections of which a .dwo file has one for each type."""
LARGEST = 128 << 20
"""Bytes that the compressed sections of one file may have together: a few bytes can claim any size, and while they are
unpacked twice as much is used."""

IN_MEMORY = 32 << 20
"""Bytes of sections that are read as a whole, if all of them have no more; others are read where they are looked at."""


def debug_sections(elf: ElfFile, wanted: Callable[[str], bool]) -> dict[str, Part]:
    """The sections whose name is wanted, unpacked, those of one name put together; those of .zdebug_x are named
    .debug_x. Raises DebugInfoError."""
    found: dict[str, Part] = {}
    left, plain = LARGEST, IN_MEMORY
    for section in elf.sections:
        name = section.name.replace(".zdebug_", ".debug_", 1)
        if not wanted(name) or (name in found and name not in _SEVERAL) or section.kind == _SHT_NOBITS:
            continue
        is_packed = bool(section.flags & _SHF_COMPRESSED)
        if is_packed or name != section.name:
            _check_size(section.size, name, left)
            packed = elf.contents(section)
            data: Part = _unpack(packed, elf.is_64_bit, name, left) if is_packed else _unpack_zdebug(packed, name, left)
            left -= len(data)
        else:
            data = elf.contents(section) if section.size <= plain else elf.part(section)
        if isinstance(data, bytes):
            plain -= len(data)
            elf.costs.take(len(data))
            elf.costs.check()
        found[name] = found[name][:] + data[:] if name in found else data
    return found


def unpacked_section(elf: ElfFile, section: Section) -> bytes:
    """The content of a section that is compressed (SHF_COMPRESSED). Raises DebugInfoError."""
    _check_size(section.size, section.name, LARGEST)
    return _unpack(elf.contents(section), elf.is_64_bit, section.name, LARGEST)


def _unpack(data: bytes, wide: bool, name: str, left: int) -> bytes:
    layout = struct.Struct("<IIQQ" if wide else "<III")
    if len(data) < layout.size:
        raise DebugInfoError(f"section {name} is cut off")
    fields = layout.unpack_from(data)
    kind, size = fields[0], fields[2 if wide else 1]
    body = data[layout.size :]
    if kind == _ZLIB:
        return _inflate(body, size, name, left)
    if kind == _ZSTD:
        return _unpack_zstd(body, size, name, left)
    raise DebugInfoError(f"section {name} is compressed in a way that is not known ({kind})")


def _unpack_zdebug(data: bytes, name: str, left: int) -> bytes:
    if len(data) < 12 or data[:4] != b"ZLIB":
        raise DebugInfoError(f"section {name} is cut off")
    return _inflate(data[12:], int.from_bytes(data[4:12], "big"), name, left)


def _inflate(data: bytes, size: int, name: str, left: int) -> bytes:
    _check_size(size, name, left)
    try:
        unpacked = zlib.decompressobj().decompress(data, size + 1)
    except zlib.error as error:
        raise DebugInfoError(f"section {name} is damaged: {error}") from None
    return _checked(unpacked, size, name)


def _unpack_zstd(data: bytes, size: int, name: str, left: int) -> bytes:
    _check_size(size, name, left)
    return _checked(unpacked_zstd(data, size, f"section {name}"), size, name)


def unpacked_zstd(data: bytes, largest: int, what: str = "the file") -> bytes:
    """What zstd has compressed, no more than a byte beyond the largest size, by Python's own module (3.14), else by the
    package `zstandard` of the extra of that name. Raises DebugInfoError."""
    try:
        own = import_module("compression.zstd")
    except ImportError:
        pass
    else:
        try:
            return bytes(own.ZstdDecompressor().decompress(data, largest + 1))
        except own.ZstdError as error:
            raise DebugInfoError(f"{what} is damaged: {error}") from None
    try:
        package = import_module("zstandard")
    except ImportError:
        text = (
            "is compressed by zstd, which this Python cannot read: install sonde-trace[zstd], or the package zstandard"
        )
        raise DebugInfoError(f"{what} {text}") from None
    try:
        with package.ZstdDecompressor().stream_reader(data) as stream:
            return bytes(stream.read(largest + 1))
    except package.ZstdError as error:
        raise DebugInfoError(f"{what} is damaged: {error}") from None


def _check_size(size: int, name: str, left: int) -> None:
    if size > left:
        raise DebugInfoError(
            f"section {name} is too large: more than {LARGEST >> 20} MiB of compressed sections; "
            "objcopy --decompress-debug-sections makes a file that is read where it is looked at"
        )


def _checked(data: bytes, size: int, name: str) -> bytes:
    if len(data) != size:
        raise DebugInfoError(f"section {name} does not have the size it says")
    return data
