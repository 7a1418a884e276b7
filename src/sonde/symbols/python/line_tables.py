"""Which line an instruction of Python's is of, by the tables that code objects have: co_lnotab up to 3.9
(Objects/lnotab_notes.txt), co_linetable of 3.10 (PEP 626) and since 3.11 (Objects/locations.md, PEP 657).
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.model.python_functions import LineStart

_BY_UNITS, _OF_LOCATIONS = 0x030A, 0x030B
_NO_LINE = -128
_ENTRY, _MORE = 0x80, 0x40
_NONE, _LONG, _NO_COLUMNS, _ONE_LINE = 15, 14, 13, 10


def rows(table: bytes, first: int, version: int, is_whole: bool = True) -> tuple[LineStart, ...]:
    """Where each line begins by a table; `first` is the function's first line. Of what lies behind one that is cut off
    the line is not known: line 0 begins there."""
    made = _locations if version >= _OF_LOCATIONS else _units if version >= _BY_UNITS else _bytes
    found: list[LineStart] = []
    *known, (end, _) = made(table, first)
    for place, line in known:
        if found and found[-1].place == place:
            found.pop()
        if not found or found[-1].line != line:
            found.append(LineStart(place, line))
    return tuple(found) if is_whole or not found else (*found, LineStart(end, 0))


# Each ends with the place as far as which a table tells.


def _bytes(table: bytes, first: int) -> Iterator[tuple[int, int]]:
    place, line = 0, first
    yield place, line
    for forth, down in zip(table[::2], table[1::2], strict=False):
        place += forth
        line += down - 256 if down > 127 else down
        yield place, line
    yield place + 1, 0


def _units(table: bytes, first: int) -> Iterator[tuple[int, int]]:
    place, line = 0, first
    for size, down in zip(table[::2], table[1::2], strict=False):
        change = down - 256 if down > 127 else down
        if change != _NO_LINE:
            line += change
            if size:
                yield place, line
        place += size
    yield place, 0


def _locations(table: bytes, first: int) -> Iterator[tuple[int, int]]:
    place, line, at = 0, first, 0
    while at < len(table) and table[at] & _ENTRY:
        kind, size = table[at] >> 3 & 15, (table[at] & 7) + 1
        at += 1
        has_line = kind != _NONE
        if kind in (_LONG, _NO_COLUMNS):
            change, at = _signed(table, at)
            line += change
            for _ in range(3 if kind == _LONG else 0):
                _, at = _number(table, at)
        elif has_line:
            line += kind - _ONE_LINE if kind >= _ONE_LINE else 0
            at += 2 if kind >= _ONE_LINE else 1
        if at > len(table):
            break
        if has_line:
            yield place, line
        place += 2 * size
    yield place, 0


def _number(table: bytes, at: int) -> tuple[int, int]:
    """A number of six bits a byte, and where the next one is: beyond the table if it is cut off."""
    value = shift = 0
    while at < len(table):
        byte = table[at]
        at += 1
        value |= (byte & _MORE - 1) << shift
        if not byte & _MORE:
            return value, at
        shift += 6
    return 0, len(table) + 1


def _signed(table: bytes, at: int) -> tuple[int, int]:
    value, at = _number(table, at)
    return (-(value >> 1) if value & 1 else value >> 1), at
