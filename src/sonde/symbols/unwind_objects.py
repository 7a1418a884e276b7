"""The tables of objects by which programs walk user stacks, each put once into the maps of all (`spec.UNWIND_OBJECTS`
and those behind it)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator

from sonde.spec import UNWIND_BLOCKS, UNWIND_OBJECTS, UNWIND_PAGE, UNWIND_ROWS, UNWIND_RULES
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.symbols.dwarf.unwind_rows import Rows
    from sonde.symbols.elf import ElfFile

Write = Callable[[str, bytes, bytes], None]
"""Sets an element of a map, by the map's name, the key and the value."""

NONE = 0
"""The number of objects without tables."""

_OBJECT = struct.Struct("<IIII")
_ROW, _BLOCK = 4, 4


class _Pages:
    """An array of entries, of which programs find an element for each page."""

    def __init__(self, name: str, pages: int, write: Write) -> None:
        self._name, self._most, self._write = name, pages * UNWIND_PAGE, write
        self.used = 0
        self._last = b""
        """What is in the page that is not full."""

    def has_room(self, data: bytes) -> bool:
        return self.used + len(data) <= self._most

    def append(self, data: bytes) -> int:
        """Put entries behind the others; the offset of the first."""
        start, page = self.used, self.used // UNWIND_PAGE
        data = self._last + data
        self.used = page * UNWIND_PAGE + len(data)
        for number, at in enumerate(range(0, len(data), UNWIND_PAGE)):
            self._last = data[at : at + UNWIND_PAGE]
            self._write(self._name, struct.pack("<I", page + number), self._last.ljust(UNWIND_PAGE, b"\0"))
        if len(self._last) == UNWIND_PAGE:
            self._last = b""
        return start


class Room(NamedTuple):
    """How many objects there may be, and how many pages of rows, blocks and rules."""

    objects: int
    rows: int
    blocks: int
    rules: int


class UnwindObjects:
    """`lost` counts the objects for which there was no room, or whose descriptions take too much to be read."""

    def __init__(self, room: Room, write: Write) -> None:
        self._write = write
        self._most = room.objects
        self._used = 1
        self._rows = _Pages(UNWIND_ROWS, room.rows, write)
        self._blocks = _Pages(UNWIND_BLOCKS, room.blocks, write)
        self._rules = _Pages(UNWIND_RULES, room.rules, write)
        self.lost = 0

    def add(self, file: ElfFile) -> Generator[None, None, int]:
        """Make an object's tables and let programs know them, some milliseconds at a time; its number."""
        from sonde.symbols.dwarf.unwind_rows import RULE  # imports that sessions of an instant do without
        from sonde.symbols.elf import ElfError
        from sonde.symbols.kept_rows import kept_rows

        try:
            rows = yield from _timed(file, kept_rows(file))
        except ElfError:
            # Nobody shall take what is missing for what the program has not.
            self.lost += bool(file.costs.reason)
            return NONE
        if not rows.rows:
            return NONE
        parts = ((self._rows, rows.rows), (self._blocks, rows.blocks), (self._rules, rows.rules))
        if self._used >= self._most or not all(pages.has_room(data) for pages, data in parts):
            self.lost += 1
            return NONE
        first_row = self._rows.append(rows.rows) // _ROW
        first_block = self._blocks.append(rows.blocks) // _BLOCK
        first_rule = self._rules.append(rows.rules) // RULE.size
        number, self._used = self._used, self._used + 1
        found = _OBJECT.pack(first_row, first_block, len(rows.blocks) // _BLOCK - 1, first_rule)
        self._write(UNWIND_OBJECTS, struct.pack("<I", number), found)
        return number


def _timed(file: ElfFile, making: Generator[None, None, Rows]) -> Generator[None, None, Rows]:
    """The same, where the time between two steps is not what reading the file takes."""
    while True:
        try:
            with file.costs:
                next(making)
        except StopIteration as end:
            found: Rows = end.value
            return found
        yield
