"""Which unit has an address, as .debug_aranges tells (DWARF 5, section 6.1.2)."""

from __future__ import annotations

from sonde.typed import NamedTuple


class AddressRange(NamedTuple):
    """The addresses from `start` up to `end` are of the unit at `unit` in .debug_info."""

    start: int
    end: int
    unit: int


def read_aranges(data: bytes) -> list[AddressRange]:
    """The ranges as far as they make sense: what is missing is looked for in the units themselves."""
    found: list[AddressRange] = []
    at = 0
    while at + 12 <= len(data):
        start, width = at, 4
        length, at = int.from_bytes(data[at : at + 4], "little"), at + 4
        if length == 0xFFFFFFFF:
            width, length, at = 8, int.from_bytes(data[at : at + 8], "little"), at + 8
        end = at + length
        unit = int.from_bytes(data[at + 2 : at + 2 + width], "little")
        at += 2 + width
        if end > len(data) or at + 2 > end or data[at] not in (4, 8):
            break
        size, at = data[at], at + 2
        at += -(at - start) % (2 * size)
        found += _ranges(data[at:end], size, unit)
        at = end
    return found


def _ranges(data: bytes, size: int, unit: int) -> list[AddressRange]:
    found = []
    for at in range(0, len(data) - 2 * size + 1, 2 * size):
        start = int.from_bytes(data[at : at + size], "little")
        length = int.from_bytes(data[at + size : at + 2 * size], "little")
        if length:
            found.append(AddressRange(start, start + length, unit))
    return found
