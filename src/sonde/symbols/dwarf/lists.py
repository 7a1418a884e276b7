"""Lists of address ranges and of locations, of every version (DWARF 5, sections 2.17.3, 2.6.2, 7.25, 7.29; DWARF 4,
sections 2.17.3 and 2.6.2; GNU's form for split units of version 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.forms import uleb128
from sonde.symbols.elf.file_bytes import Part
from sonde.typed import NamedTuple

EVERYWHERE = (0, 1 << 64)
_END, _BASEX, _STARTX_END, _STARTX_LENGTH, _PAIR = range(5)
_RANGE_BASE, _RANGE_START_END, _RANGE_START_LENGTH = 5, 6, 7
_DEFAULT, _BASE, _START_END, _START_LENGTH, _VIEWS = 5, 6, 7, 8, 9
_MOST = 1 << 16


class Location(NamedTuple):
    """Where a variable is from the address `start` up to `end`: a location expression."""

    start: int
    end: int
    expression: bytes


class ListReader(NamedTuple):
    """What lists of one unit are read with: the section, its name, the size of addresses, what offsets count from
    unless the list says another, and the address with an index in .debug_addr."""

    data: Part
    name: str
    size: int
    base: int
    address: Callable[[int], int]

    def number(self, at: int, size: int) -> int:
        if not 0 <= at <= len(self.data) - size:
            raise DebugInfoError(f"section {self.name} is cut off")
        return int.from_bytes(self.data[at : at + size], "little")

    def uleb(self, at: int) -> tuple[int, int]:
        try:
            return uleb128(self.data, at)
        except IndexError:
            raise DebugInfoError(f"section {self.name} is cut off") from None


def ranges(reader: ListReader, at: int) -> tuple[tuple[int, int], ...]:
    """The ranges of a list of DWARF 5 at an offset of .debug_rnglists."""
    found: list[tuple[int, int]] = []
    base = reader.base
    for _ in range(_MOST):
        kind = reader.number(at, 1)
        if kind == _END:
            return tuple((start, end) for start, end in found if start < end)
        if kind in (_BASEX, _RANGE_BASE):
            base, at = _address(reader, at + 1, kind == _BASEX)
            continue
        if kind in (_RANGE_START_END, _RANGE_START_LENGTH):
            kind += _START_END - _RANGE_START_END
        pair, at = _bounds(reader, kind, at + 1, base)
        found.append(pair)
    raise DebugInfoError(f"a list in section {reader.name} does not end")


def locations(reader: ListReader, at: int) -> Iterator[Location]:
    """The locations of a list of DWARF 5 at an offset of .debug_loclists."""
    base = reader.base
    for _ in range(_MOST):
        kind = reader.number(at, 1)
        if kind == _END:
            return
        if kind in (_BASEX, _BASE):
            base, at = _address(reader, at + 1, kind == _BASEX)
            continue
        if kind == _VIEWS:
            at = reader.uleb(reader.uleb(at + 1)[1])[1]
            continue
        (start, end), at = (EVERYWHERE, at + 1) if kind == _DEFAULT else _bounds(reader, kind, at + 1, base)
        size, at = reader.uleb(at)
        yield Location(start, end, _block(reader, at, size))
        at += size
    raise DebugInfoError(f"a list in section {reader.name} does not end")


def _bounds(reader: ListReader, kind: int, at: int, base: int) -> tuple[tuple[int, int], int]:
    """Start and end, and the offset behind them; kinds are those of locations."""
    if kind == _PAIR:
        low, at = reader.uleb(at)
        high, at = reader.uleb(at)
        return (base + low, base + high), at
    if kind not in (_STARTX_END, _STARTX_LENGTH, _START_END, _START_LENGTH):
        raise DebugInfoError(f"a list in section {reader.name} has an entry of kind {kind:#x}, which is not known")
    is_index = kind in (_STARTX_END, _STARTX_LENGTH)
    start, at = _address(reader, at, is_index)
    if kind in (_STARTX_END, _START_END):
        end, at = _address(reader, at, is_index)
        return (start, end), at
    length, at = reader.uleb(at)
    return (start, start + length), at


def _address(reader: ListReader, at: int, is_index: bool) -> tuple[int, int]:
    if not is_index:
        return reader.number(at, reader.size), at + reader.size
    index, at = reader.uleb(at)
    return reader.address(index), at


def _block(reader: ListReader, at: int, size: int) -> bytes:
    if at + size > len(reader.data):
        raise DebugInfoError(f"section {reader.name} is cut off")
    return bytes(reader.data[at : at + size])


def old_ranges(reader: ListReader, at: int) -> tuple[tuple[int, int], ...]:
    """The ranges of a list of DWARF 2 to 4 at an offset of .debug_ranges."""
    found: list[tuple[int, int]] = []
    base = reader.base
    for _ in range(_MOST):
        low, high = reader.number(at, reader.size), reader.number(at + reader.size, reader.size)
        at += 2 * reader.size
        if not low and not high:
            return tuple(found)
        if low == (1 << 8 * reader.size) - 1:
            base = high
        elif low < high:
            found.append((base + low, base + high))
    raise DebugInfoError(f"a list in section {reader.name} does not end")


def old_locations(reader: ListReader, at: int) -> Iterator[Location]:
    """The locations of a list of DWARF 2 to 4 at an offset of .debug_loc."""
    base = reader.base
    for _ in range(_MOST):
        low, high = reader.number(at, reader.size), reader.number(at + reader.size, reader.size)
        at += 2 * reader.size
        if not low and not high:
            return
        if low == (1 << 8 * reader.size) - 1:
            base = high
            continue
        size = reader.number(at, 2)
        yield Location(base + low, base + high, _block(reader, at + 2, size))
        at += 2 + size
    raise DebugInfoError(f"a list in section {reader.name} does not end")


def split_locations(reader: ListReader, at: int) -> Iterator[Location]:
    """The locations of a list of a split unit of DWARF 4, at an offset of .debug_loc.dwo: numbers of fixed size."""
    base = reader.base
    for _ in range(_MOST):
        kind = reader.number(at, 1)
        if kind == _END:
            return
        if kind == _PAIR:
            start, end, at = base + reader.number(at + 1, 4), base + reader.number(at + 5, 4), at + 9
        elif kind in (_BASEX, _STARTX_END, _STARTX_LENGTH):
            start, at = _address(reader, at + 1, True)
            if kind == _BASEX:
                base = start
                continue
            if kind == _STARTX_END:
                end, at = _address(reader, at, True)
            else:
                end, at = start + reader.number(at, 4), at + 4
        else:
            raise DebugInfoError(f"a list in section {reader.name} has an entry of kind {kind:#x}, which is not known")
        size = reader.number(at, 2)
        yield Location(start, end, _block(reader, at + 2, size))
        at += 2 + size
    raise DebugInfoError(f"a list in section {reader.name} does not end")
