"""Which unit has an address, by section .gdb_index, which gdb and linkers write (GDB manual, Index Section Format).

Its names are those that gdb makes up, whole and with what they are in, so that they say nothing of names as people give
them; its addresses are looked at.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from sonde.symbols.dwarf.unit_addresses import Range
from sonde.symbols.elf.file_bytes import Part

SECTION = ".gdb_index"

_VERSIONS = range(4, 10)
_HEADER = struct.Struct("<6I")
_UNIT = struct.Struct("<QQ")
_RANGE = struct.Struct("<QQI")


def indexed_ranges(data: Part) -> Iterator[Range]:
    """The ranges of units in .debug_info; none of an index that makes no sense or is of another version."""
    if len(data) < _HEADER.size:
        return
    version, units, types, addresses, symbols, _ = _HEADER.unpack(data[: _HEADER.size])
    if version not in _VERSIONS or not _HEADER.size <= units <= types <= addresses <= symbols <= len(data):
        return
    offsets = [offset for offset, _ in _UNIT.iter_unpack(data[units : units + (types - units) // 16 * 16])]
    end = addresses + (symbols - addresses) // _RANGE.size * _RANGE.size
    for low, high, number in _RANGE.iter_unpack(data[addresses:end]):
        if number < len(offsets):
            yield low, high, offsets[number]
