"""How each instruction of an object leads to its caller, as a table that programs in the kernel can search: made from
the frame descriptions in .eh_frame (LSB 10.6).

A row is a u32: the lower half of the file offset from which on it holds, below the number of its rule. Rows are in
order; those of one block of 64 KiB of the file stand together, and the first of a block is for its beginning.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Generator

from sonde.arch import object_files
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.frame_rules import BEGINNING, NOT_KNOWN, NOTHING, OUTERMOST, SIGNAL, Rule, State, rule, run
from sonde.symbols.dwarf.frames import FrameDescription, FrameDescriptions
from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.errors import CostError
from sonde.symbols.elf.file import ElfFile, Segment
from sonde.symbols.elf.go_objects import OUTERMOST_SIZE, outermost
from sonde.typed import NamedTuple

SECTION = ".eh_frame"
RULE = struct.Struct("<iiihBB")
"""Of a `frame_rules.Rule`: the offsets of the frame address, of the frame pointer and of the base register; what is
more; the kind; and what the frame pointer and, in the upper half, the base register are counted from."""

BLOCK = 16
"""Bits of a file offset within a block."""

LARGEST = 16 << 20
"""Bytes of the section that are read; large programs have 3 to 10 MiB."""

_MOST_RULES = 1 << 16
_EXECUTABLE = 1

_WORTH = 1e-6
"""Seconds that a byte of it may take beside what the object may take anyway: a file of 100 MB takes 2."""

_ROW_SIZE = 48
"""Bytes of memory that a row takes while all are made, about."""

_STEP, _ROW_STEP = 200, 20_000
"""Descriptions and rows after which others have their turn."""


class UnwindRows(NamedTuple):
    """`blocks`: for each block a u32, which row is its first one, and one more, how many rows there are. `rules`: by
    number, as RULE has them; 0 is that nothing is described."""

    blocks: bytes
    rows: bytes
    rules: bytes


NO_ROWS = UnwindRows(b"", b"", b"")


class RowsSource(NamedTuple):
    """All that an object's rows are made of: the bytes of its descriptions, where they are loaded, the loadable
    segments, and the functions besides that have no caller."""

    data: bytes
    address: int
    segments: tuple[Segment, ...]
    outermost: tuple[int, ...] = ()


def rows_source(file: ElfFile) -> RowsSource | None:
    """None for an object that has none, or is of another processor. Raises ElfError."""
    if file.machine != object_files.MACHINE or not file.is_64_bit:
        return None
    section, roots = file.find_section(SECTION), outermost(file)
    if section is None:
        return RowsSource(b"", 0, file.segments, roots) if roots else None
    return RowsSource(file.contents(section, LARGEST), section.address, file.segments, roots)


def make_rows(source: RowsSource, costs: Costs) -> Generator[None, None, UnwindRows]:
    """The rows, some milliseconds at a time; `costs` are those of the file. Raises CostError."""
    costs.allow(len(source.data) * _WORTH)
    table = _Table(source.segments)
    try:
        for number, description in enumerate(FrameDescriptions(source.data, source.address, True).descriptions()):
            if not number % _STEP:
                costs.check()
                costs.take(_ROW_SIZE * table.grown())
                yield
            table.add(description)
    except CostError:
        raise
    except DebugInfoError:
        pass
    finally:
        costs.give_back(_ROW_SIZE * table.noted)
    for address in source.outermost:
        table.add_outermost(address)
    return (yield from table.laid_out())


class _Table:
    """Rows while they are gathered: numbers of the file offset, whether something is described, and the rule."""

    def __init__(self, segments: tuple[Segment, ...]) -> None:
        self._segments = [
            each for each in segments if each.flags & _EXECUTABLE and each.offset + each.file_size < 1 << 32
        ]
        self._segment: Segment | None = None
        self._rules: dict[Rule, int] = {NOTHING: 0}
        self._states: dict[State, int] = {}
        self._starts: dict[int, State] = {}
        self._known: dict[tuple[int, bytes], list[tuple[int, int]]] = {}
        # A million of them, in many objects at a time: as numbers of Python they would take five times as much.
        self._rows = array("Q")
        self.noted = 0

    def grown(self) -> int:
        """How many rows more there are than when this was asked last."""
        more = len(self._rows) - self.noted
        self.noted += more
        return more

    def add(self, description: FrameDescription) -> None:
        start, length, _, (data, at, end), common = description
        segment = self._segment
        if segment is None or not segment.address <= start < segment.address + segment.file_size:
            segment = self._segment = self._found(start)
            if segment is None:
                return
        if length > segment.address + segment.file_size - start:
            return
        start = start - segment.address + segment.offset
        key = common.at, bytes(data[at:end])
        rows = self._known.get(key)
        if rows is None:
            rows = self._known[key] = self._made(description, key[1])
        for distance, number in rows:
            if distance >= length:
                break
            self._rows.append(start + distance << 17 | (number != 0) << 16 | number)
        self._rows.append(start + length << 17)

    def add_outermost(self, start: int) -> None:
        """A function without a caller, unless something is described there."""
        segment = self._found(start)
        if segment is not None:
            offset, number = start - segment.address + segment.offset, self._number(OUTERMOST)
            self._rows.append(offset << 17 | (number != 0) << 16 | number)
            self._rows.append(offset + OUTERMOST_SIZE << 17)

    def _found(self, address: int) -> Segment | None:
        return next((e for e in self._segments if e.address <= address < e.address + e.file_size), None)

    def _made(self, description: FrameDescription, code: bytes) -> list[tuple[int, int]]:
        common = description.common
        if common.is_signal:
            return [(0, self._number(Rule(SIGNAL)))]
        try:
            first = self._starts.get(common.at)
            if first is None:
                data, at, end = description.first
                _, first = run(bytes(data[at:end]), common.code, common.data, BEGINNING)
                self._starts[common.at] = first
            found, _ = run(code, common.code, common.data, first)
        except (IndexError, DebugInfoError):
            return [(0, self._number(NOT_KNOWN))]
        rows: list[tuple[int, int]] = []
        for distance, state in found:
            number = self._states.get(state)
            if number is None:
                number = self._states[state] = self._number(rule(state))
            if rows and rows[-1][0] == distance:
                rows.pop()
            if not rows or rows[-1][1] != number:
                rows.append((distance, number))
        return rows

    def _number(self, wanted: Rule) -> int:
        # Of more rules than there are numbers the rest is not described.
        return self._rules.setdefault(wanted, len(self._rules)) if len(self._rules) < _MOST_RULES else 0

    def laid_out(self) -> Generator[None, None, UnwindRows]:
        """One row for each change; where one function's code ends and another's begins the latter counts."""
        self._rows = array("Q", sorted(self._rows))
        yield
        rows, blocks = array("I"), array("I")
        placed, current = -1, 0
        for number, row in enumerate(self._rows):
            if not number % _ROW_STEP:
                yield
            offset, wanted = row >> 17, row & 0xFFFF
            while offset >> BLOCK >= len(blocks):
                placed = len(blocks) << BLOCK
                blocks.append(len(rows))
                rows.append(current << 16)
            if offset == placed:
                rows[-1] = offset & 0xFFFF | wanted << 16
            elif wanted != current:
                rows.append(offset & 0xFFFF | wanted << 16)
                placed = offset
            current = wanted
        if not blocks:
            return NO_ROWS
        blocks.append(len(rows))
        rules = b"".join(map(_packed, self._rules))
        return UnwindRows(blocks.tobytes(), rows.tobytes(), rules)


def packed_rule(rules: bytes, number: int) -> Rule:
    """One of the rules of an object's rows."""
    offset, pointer, base, more, kind, by = RULE.unpack_from(rules, number * RULE.size)
    return Rule(kind, offset, more, pointer, by & 15, base, by >> 4)


def _packed(found: Rule) -> bytes:
    by = found.pointer_by | found.base_by << 4
    return RULE.pack(found.offset, found.pointer, found.base, found.more, found.kind, by)
