"""The tables of objects by which programs walk user stacks, each put once into the maps of all (`spec.UNWIND_OBJECTS`
and those behind it)."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Generator

from sonde.model.named_maps import UNWIND_BLOCKS, UNWIND_OBJECT, UNWIND_OBJECTS, UNWIND_PAGE, UNWIND_ROWS, UNWIND_RULES
from sonde.model.python_frames import PYTHON_RUNTIMES
from sonde.symbols.dwarf import plain_descriptions, unwind_rows
from sonde.symbols.elf import file as elf_file
from sonde.symbols.elf import go_objects
from sonde.symbols.python import runtimes
from sonde.symbols.unwinding import kept_rows
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.symbols.dwarf.unwind_rows import UnwindRows
    from sonde.symbols.elf.file import ElfFile

Write = Callable[[str, bytes, bytes], None]
"""Sets an element of a map, by the map's name, the key and the value."""

NONE = 0
"""The number of objects without tables."""

_ROW, _BLOCK, _PAIR = 4, 4, 8

_WORTH = 3000
"""Bytes of rows' descriptions from which on programs get these meanwhile."""

_SHARES = 2
"""One of so many shares is for what programs may meet, all for what they have met: a busy machine has more objects than
there is room for, and few of them are in stacks."""

_GRACE = 0.1
"""Seconds after which no program reads any more what has been replaced."""


class Pages:
    """An array of entries, of which programs find an element for each page.

    Pages at its end are lent for some time; they are used again when none of them is needed any more.
    """

    def __init__(self, name: str, pages: int, write: Write) -> None:
        self._name, self._pages, self._write = name, pages, write
        self.used = 0
        self._lent_from, self._users, self._free_from = pages, 0, 0.0
        self._last = b""
        """What is in the page that is not full."""

    def has_room(self, data: bytes, share: int = 1) -> bool:
        """Whether it fits, or fits into the first of so many equal shares."""
        return self.used + len(data) <= min(self._end(), self._pages // share) * UNWIND_PAGE

    def lend(self, data: bytes) -> int | None:
        """Have a page or more for a while; the offset of the first byte, None if there is no room."""
        first = self._end() - -(-len(data) // UNWIND_PAGE)
        if first * UNWIND_PAGE < self.used:
            return None
        self._lent_from = first
        self._users += 1
        for page, at in enumerate(range(0, len(data), UNWIND_PAGE), first):
            value = data[at : at + UNWIND_PAGE].ljust(UNWIND_PAGE, b"\0")
            self._write(self._name, struct.pack("<I", page), value)
        return first * UNWIND_PAGE

    def give_back(self) -> None:
        self._users -= 1
        self._free_from = time.monotonic() + _GRACE

    def _end(self) -> int:
        """The first of the pages that are lent."""
        if not self._users and time.monotonic() >= self._free_from:
            self._lent_from = self._pages
        return self._lent_from

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
    """How many objects there may be, how many pages of rows, blocks and rules, and how many interpreters of Python are
    told apart: none of number 0."""

    objects: int
    rows: int
    blocks: int
    rules: int
    interpreters: int = 0


class UnwindObjects:
    """`lost` counts the objects for which there was no room, or whose descriptions take too much to be read."""

    def __init__(self, room: Room, write: Write, is_described: bool = False) -> None:
        """`is_described` says that programs can do with descriptions until an object's rows are made."""
        self._write, self._is_described = write, is_described
        self._most = room.objects
        self._used = 1
        self._interpreters = 0
        self._room_for_interpreters = room.interpreters
        self._rows = Pages(UNWIND_ROWS, room.rows, write)
        self._blocks = Pages(UNWIND_BLOCKS, room.blocks, write)
        self._rules = Pages(UNWIND_RULES, room.rules, write)
        self.lost = 0

    def add(self, file: ElfFile, is_met: Callable[[], bool]) -> Generator[int, None, int]:
        """Make an object's tables and let programs know them, some milliseconds at a time; its number. Until then it
        may have another number, by its descriptions, which is what is yielded. One that programs have not met, until
        it is made, has room in the first half alone."""
        early = NONE
        try:
            with file.costs:
                kept = kept_rows.kept_rows(file)
            with file.costs:
                interpreter = self._interpreter(file)
                keeps = int(go_objects.is_go(file))
            rows = kept.rows
            if rows is None:
                early = self._described(file, interpreter, keeps)
                yield early
                rows = yield from _timed(file, kept_rows.made_rows(kept, file.costs), early)
        except elf_file.ElfError:
            # Nobody shall take what is missing for what the program has not.
            self.lost += early == NONE and bool(file.costs.reason)
            return early
        if not rows.rows:
            return self._new(*[0] * 8, -1, -1, interpreter, 1) if keeps and self._used < self._most else early
        share = 1 if is_met() else _SHARES
        number = self._put(rows, interpreter, share, keeps)
        if number != NONE and early != NONE:
            self._rows.give_back()
        self.lost += share == 1 and number == early == NONE
        return number or early

    def _interpreter(self, file: ElfFile) -> int:
        """The number of the interpreter of Python in an object, 0 if there is none, or no room for it."""
        if self._interpreters + 1 >= self._room_for_interpreters:
            return 0

        found = runtimes.runtime_of(file)
        if found is None:
            return 0
        self._interpreters += 1
        self._write(PYTHON_RUNTIMES, struct.pack("<I", self._interpreters), found)
        return self._interpreters

    def _described(self, file: ElfFile, interpreter: int, keeps: int) -> int:
        """The number of an object by its descriptions, NONE if they are few, of another form, or there is no room."""
        section = file.find_section(unwind_rows.SECTION)
        if not self._is_described or section is None or section.size < _WORTH or self._used >= self._most - 1:
            return NONE
        with file.costs:
            found = plain_descriptions.plain_descriptions(file)
        if found is None:
            return NONE
        start = self._rows.lend(found.pairs + found.data)
        if start is None:
            return NONE
        data = start + len(found.pairs)
        signals, outermost = (data + each if each >= 0 else -1 for each in (found.signals, found.outermost))
        pairs = start // _PAIR, len(found.pairs) // _PAIR
        return self._new(0, 0, 0, 0, *pairs, found.address, data + found.base, signals, outermost, interpreter, keeps)

    def _put(self, rows: UnwindRows, interpreter: int, share: int, keeps: int) -> int:
        """The number of an object by its rows, NONE if there is no room in the first of so many shares."""
        parts = ((self._rows, rows.rows), (self._blocks, rows.blocks), (self._rules, rows.rules))
        if self._used >= self._most // share or not all(pages.has_room(data, share) for pages, data in parts):
            return NONE
        first_row = self._rows.append(rows.rows) // _ROW
        first_block = self._blocks.append(rows.blocks) // _BLOCK
        first_rule = self._rules.append(rows.rules) // unwind_rows.RULE.size
        blocks = len(rows.blocks) // _BLOCK - 1
        return self._new(first_row, first_block, blocks, first_rule, 0, 0, 0, 0, -1, -1, interpreter, keeps)

    def _new(self, *words: int) -> int:
        number, self._used = self._used, self._used + 1
        self._write(UNWIND_OBJECTS, struct.pack("<I", number), UNWIND_OBJECT.pack(*words))
        return number


def _timed(file: ElfFile, making: Generator[None, None, UnwindRows], early: int) -> Generator[int, None, UnwindRows]:
    """The same, where the time between two steps is not what reading the file takes; `early` is what is yielded."""
    while True:
        try:
            with file.costs:
                next(making)
        except StopIteration as end:
            found: UnwindRows = end.value
            return found
        yield early
