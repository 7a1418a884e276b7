"""Which unit has an address, as .debug_aranges tells (DWARF 5, section 6.1.2)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from sonde.symbols.dwarf.unit_addresses import Range
from sonde.symbols.elf.file_bytes import Part

_PAIRS = {4: struct.Struct("<II"), 8: struct.Struct("<QQ")}


def told_ranges(data: Part) -> Iterator[Range]:
    """The ranges of units, as far as the section makes sense: what is missing is looked for in the units themselves."""
    for unit, start, end, size in _sets(data):
        for low, length in _PAIRS[size].iter_unpack(data[start:end]):
            yield low, low + length, unit


def _sets(data: Part) -> Iterator[tuple[int, int, int, int]]:
    """For each unit with addresses its offset, where its pairs begin and end, and the size of an address."""
    at = 0
    while at + 12 <= len(data):
        start, width = at, 4
        length, at = int.from_bytes(data[at : at + 4], "little"), at + 4
        if length == 0xFFFFFFFF:
            width, length, at = 8, int.from_bytes(data[at : at + 8], "little"), at + 8
        end = at + length
        unit = int.from_bytes(data[at + 2 : at + 2 + width], "little")
        at += 2 + width
        if end > len(data) or at + 2 > end or data[at] not in _PAIRS:
            return
        size, at = data[at], at + 2
        at += -(at - start) % (2 * size)
        if at < end:
            yield unit, at, at + (end - at) // (2 * size) * (2 * size), size
        at = end
