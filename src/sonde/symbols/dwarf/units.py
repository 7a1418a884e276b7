"""The units of .debug_info, by their headers alone (DWARF 5, section 7.5.1)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.forms import Sizes
from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.file_bytes import Part
from sonde.typed import NamedTuple

UT_COMPILE, UT_TYPE, UT_PARTIAL, UT_SKELETON, UT_SPLIT_COMPILE, UT_SPLIT_TYPE = 1, 2, 3, 4, 5, 6

_FEW = 1 << 8
_UNIT_SIZE = 400
"""Bytes of memory that a unit takes, about."""


class DebugUnit(NamedTuple):
    """A unit: where it begins, its first entry and its end in .debug_info, where its abbreviations are, its type
    (UT_*; compile for all before DWARF 5), and the id by which others name it: a skeleton its split unit, a reference a
    unit of a type (0 if none). `type_offset` is where that type is in such a unit."""

    offset: int
    entries: int
    end: int
    abbreviations: int
    sizes: Sizes
    kind: int
    dwo_id: int = 0
    type_offset: int = 0


def read_units(info: Part, costs: Costs, are_types: bool = False) -> tuple[DebugUnit, ...]:
    """The units of .debug_info, or with `are_types` those of .debug_types (DWARF 4, section 7.5.1.2).

    Raises DebugInfoError where a header makes no sense.
    """
    found, at = [], 0
    while at < len(info):
        found.append(_unit(info, at, are_types))
        at = found[-1].end
        if not len(found) % _FEW:
            costs.take(_FEW * _UNIT_SIZE)
            costs.check()
    return tuple(found)


def unit_at(units: Sequence[DebugUnit], offset: int) -> DebugUnit | None:
    """The unit with an offset of .debug_info in it."""
    index = bisect_right(units, offset, key=lambda unit: unit.offset) - 1
    return units[index] if index >= 0 and offset < units[index].end else None


def _unit(info: Part, start: int, is_type: bool) -> DebugUnit:
    width = 4
    length = _number(info, start, 4)
    at = start + 4
    if length == 0xFFFFFFFF:
        width, length, at = 8, _number(info, at, 8), at + 8
    end = at + length
    version = _number(info, at, 2)
    if end > len(info) or not 2 <= version <= 5:
        raise DebugInfoError(f"the unit at {start:#x} of .debug_info makes no sense (DWARF version {version})")
    at += 2
    kind, dwo_id, type_offset = UT_COMPILE, 0, 0
    if version == 5:
        kind, address = _number(info, at, 1), _number(info, at + 1, 1)
        abbreviations, at = _number(info, at + 2, width), at + 2 + width
        if kind in (UT_SKELETON, UT_SPLIT_COMPILE):
            dwo_id, at = _number(info, at, 8), at + 8
        elif kind in (UT_TYPE, UT_SPLIT_TYPE):
            dwo_id, type_offset, at = _number(info, at, 8), _number(info, at + 8, width), at + 8 + width
    else:
        abbreviations, address, at = _number(info, at, width), _number(info, at + width, 1), at + width + 1
        if is_type:
            kind, dwo_id, type_offset = UT_TYPE, _number(info, at, 8), _number(info, at + 8, width)
            at += 8 + width
    if address not in (4, 8) or at > end:
        raise DebugInfoError(f"the unit at {start:#x} of .debug_info makes no sense (addresses of {address} bytes)")
    return DebugUnit(start, at, end, abbreviations, Sizes(address, width, version), kind, dwo_id, type_offset)


def _number(data: Part, at: int, width: int) -> int:
    if at + width > len(data):
        raise DebugInfoError("section .debug_info is cut off")
    return int.from_bytes(data[at : at + width], "little")
