"""The addresses where a debugger would stop for a line: the first of each block of code that is of the line.

The rules are those of gdb for `break FILE:LINE`: a block is a function, an inlined copy or a lexical block with
declarations; an address in what sets up a function's frame is moved behind it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from sonde.arch import instructions
from sonde.symbols.dwarf.attributes import ranges_of, source_of, text
from sonde.symbols.dwarf.errors import DebugInfoError
from sonde.symbols.dwarf.information import DebugInformation
from sonde.symbols.dwarf.line_table import LineRow
from sonde.symbols.dwarf.source_lines import FileLines
from sonde.typed import Any, NamedTuple

_NO_BLOCKS = ("DW_TAG_lexical_block", "DW_TAG_inlined_subroutine", "DW_TAG_call_site", "DW_TAG_GNU_call_site")


class LineStop(NamedTuple):
    """A place of a line: the file and the line that are really there (the next one with code, if the one asked for has
    none), and the function."""

    address: int
    file: str
    line: int
    function: Any


def stops(information: DebugInformation, file: str, line: int) -> tuple[LineStop, ...]:
    """Where control reaches a line of a file, by address. Raises DebugInfoError if there is no such place."""
    with information.costs:
        return _stops(information, file, line)


def _stops(information: DebugInformation, file: str, line: int) -> tuple[LineStop, ...]:
    tables = information.lines.of_file(file)
    if not tables:
        raise DebugInfoError(f"{information.path} has no source file {file}")
    actual = min((each for lines in tables for each in _first_with_code(information, lines, line)), default=0)
    if not actual:
        raise DebugInfoError(f"{information.path} has no code for line {line} of {file} or behind it")
    found: dict[int, LineStop] = {}
    for lines in tables:
        blocks = set()
        for row in lines.of(actual):
            if not information.is_code(row.address):
                continue
            function = information.function_at(row.address, lines.unit)
            block = _block(function, row.address) if function is not None else row.address
            if block not in blocks:
                blocks.add(block)
                address = _behind_prologue(information, function, row.address, lines.every)
                found[address] = LineStop(address, lines.table.files[row.file], actual, function)
    return tuple(found[address] for address in sorted(found))


def _first_with_code(information: DebugInformation, lines: FileLines, line: int) -> Iterator[int]:
    """The first line from one on that has code; what the linker has left out keeps its rows."""
    for each in lines.lines_from(line):
        if any(information.is_code(row.address) for row in lines.of(each)):
            yield each
            return


def _block(function: Any, address: int) -> tuple[int, int]:
    """The innermost block at an address, by its entry."""
    block, within, waiting = function, 0, [function]
    while waiting and within < 128:
        entry = waiting.pop()
        for each in source_of(entry).children(entry):
            if each.tag in _NO_BLOCKS[:2] and any(start <= address < end for start, end in ranges_of(each)):
                waiting = [each]
                within += 1
                if each.tag == "DW_TAG_inlined_subroutine" or _declares(each):
                    block = each
                break
    return id(block.dwarfinfo), block.offset


def _declares(entry: Any) -> bool:
    return any(each.tag not in _NO_BLOCKS for each in source_of(entry).children(entry))


def _behind_prologue(information: DebugInformation, function: Any, address: int, rows: list[LineRow]) -> int:
    """The address, or the first one with a row behind the instructions that set up the function's frame."""
    if function is None:
        return address
    start = ranges_of(function)[0][0]
    if _follows_variables(function):
        return max(address, start)
    end = max(high for _, high in ranges_of(function))
    behind = _after_frame(information, start)
    if "clang" in text(function.cu.get_top_DIE(), "DW_AT_producer"):
        behind = max(behind, _second_row(rows, start, end))
    at = bisect_right(rows, behind, key=lambda row: row.address)
    if at and rows[at - 1].address != behind and at < len(rows) and start <= rows[at].address < end:
        behind = rows[at].address
    return max(address, behind)


def _follows_variables(function: Any) -> bool:
    """Whether the unit's variables have lists of locations: these are right from the first instruction on, while
    without them parameters are not where they are said to be until the frame is set up."""
    source = source_of(function)
    producer = text(function.cu.get_top_DIE(), "DW_AT_producer")
    table = source.table(source.unit_at(function.offset))
    return producer.startswith("GNU") and any(each.has_list for each in table.values())


def _second_row(rows: list[LineRow], start: int, end: int) -> int:
    """Clang begins a function with a row for its head and one for its body."""
    inside = [row for row in rows if start <= row.address < end and row.line]
    marked = [row.address for row in inside if row.ends_prologue]
    later = [row.address for row in inside if row.address > start]
    return min(marked, default=min(later, default=start))


def _after_frame(information: DebugInformation, start: int) -> int:
    """Behind the instructions that set up a frame pointer, `start` where a function does not begin so."""
    return start + instructions.frame_setup(information.code(start, 8))
