"""The frame descriptions of an object as they are in its file, where programs can run them: such as compilers write,
with the sorted table of .eh_frame_hdr. To look at them takes a hundredth of the time that rows take to be made."""

from __future__ import annotations

import re
import struct

from sonde.arch import object_files, unwinding
from sonde.symbols.dwarf import frame_table
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.forms import sleb128, uleb128
from sonde.symbols.dwarf.unwind_rows import LARGEST, SECTION
from sonde.symbols.elf.file import ElfFile
from sonde.typed import NamedTuple

_HEADER = 12
_EXECUTABLE = 1
_RELATIVE = 0x1B
"""How addresses are written: as signed numbers of four bytes, counted from their own places."""

_COMMON = re.compile(rb"\0\0\0\0\x01z")
"""What descriptions have in common begins so, behind its length."""

_MOST = 1 << 18
"""Pairs in which programs can search."""

_NONE = -1


class PlainDescriptions(NamedTuple):
    """The pairs of addresses of .eh_frame_hdr, and the bytes of .eh_frame; what turns file offsets into addresses as
    pairs have them, counted from -2^31; the offset in the section from which pairs count; and the offsets of what the
    descriptions of signals' frames, and of outermost ones, have in common, -1 if there are none."""

    pairs: bytes
    data: bytes
    address: int
    base: int
    signals: int
    outermost: int


def plain_descriptions(file: ElfFile) -> PlainDescriptions | None:
    """None for an object whose descriptions are none, too large or of another form. Raises ElfError."""
    section, header = file.find_section(SECTION), file.find_section(frame_table.SECTION)
    code = [each for each in file.segments if each.flags & _EXECUTABLE]
    if section is None or header is None or len(code) != 1:
        return None
    if file.machine != object_files.MACHINE or not file.is_64_bit:
        return None
    if section.address % 4 or max(section.size, header.size) > LARGEST:
        return None
    table, data = bytes(file.contents(header, LARGEST)), bytes(file.contents(section, LARGEST))
    count = frame_table.entries(table)
    beginnings = special(data)
    if not 0 < count < _MOST or beginnings is None:
        return None
    address = code[0].address - code[0].offset - header.address + (1 << 31)
    pairs = table[_HEADER : _HEADER + 8 * count]
    return PlainDescriptions(pairs, data, address, header.address - section.address, *beginnings)


def special(data: bytes) -> tuple[int, int] | None:
    """Where what is common to signals' frames is, and to outermost ones. None if there is another kind."""
    signals = outermost = _NONE
    for found in _COMMON.finditer(data):
        at = found.start() - 4
        kind = _kind(data, at) if at >= 0 else None
        if kind == "signal" and signals == _NONE:
            signals = at
        elif kind == "outermost" and outermost == _NONE:
            outermost = at
        elif kind != "plain":
            return None
    return signals, outermost


def _kind(data: bytes, at: int) -> str | None:
    """Of what is in common at an offset; None if that is not plain."""
    (length,) = struct.unpack_from("<I", data, at)
    end, letters_end = at + 4 + length, data.find(b"\0", at + 9)
    letters = data[at + 9 : letters_end]
    try:
        code, at = uleb128(data, letters_end + 1)
        factor, at = sleb128(data, at)
        register, at = uleb128(data, at)
        size, at = uleb128(data, at)
    except (IndexError, DebugInfoError):
        return None
    encodings = data[at : at + size]
    if b"S" in letters:
        return "signal" if letters == b"zRS" and encodings == bytes((_RELATIVE,)) else None
    is_known = letters in (b"zR", b"zPLR", b"zPR", b"zLR") and encodings[-1:] == bytes((_RELATIVE,))
    if not is_known or (code, factor, register) != (1, unwinding.RETURN_OFFSET, unwinding.RETURN):
        return None
    own = data[at + size : end].rstrip(b"\0")
    common = unwinding.COMMON_RULES
    return {common: "plain", common + unwinding.NO_CALLER: "outermost"}.get(own)
