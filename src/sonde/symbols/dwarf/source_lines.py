"""The lines of source files with their code: each line table is read once, however many lines are asked for."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from operator import attrgetter

from sonde.symbols.dwarf.line_table import LineRow, LineTable, tables_naming
from sonde.symbols.dwarf.scan import TAG_PARTIAL_UNIT
from sonde.symbols.dwarf.source import EntrySource
from sonde.symbols.dwarf.units import DebugUnit

_LONGEST_HEAD = 512
"""Bytes of a unit's first entry: its name and directory may stand in it."""
_MOST_ROWS, _ROW_SIZE = 500_000, 150
"""Rows that are kept, and what each takes of memory, about."""


class FileLines:
    """The rows of one table for one of its files, of which `numbers` are those in the table; `every` are the rows of
    all files, by address."""

    def __init__(self, unit: DebugUnit, table: LineTable, numbers: frozenset[int], rows: list[LineRow]) -> None:
        self.unit = unit
        self.table = table
        self.numbers = numbers
        self.every = rows
        self._by_line: dict[int, list[LineRow]] = {}
        for row in rows:
            if row.file in numbers and row.is_statement:
                self._by_line.setdefault(row.line, []).append(row)
        self._lines = sorted(self._by_line)

    def of(self, line: int) -> list[LineRow]:
        """The statements of a line."""
        return self._by_line.get(line, [])

    def lines_from(self, line: int) -> Iterator[int]:
        """The lines with statements from one on, in order."""
        return iter(self._lines[bisect_left(self._lines, line) :])


class SourceLines:
    """Those of the files of one object."""

    def __init__(self, main: EntrySource) -> None:
        self._main = main
        self._shared = main.shared.sections if main.shared else {}
        self._files: dict[str, list[FileLines]] = {}
        self._rows: dict[int, list[LineRow]] = {}
        self._every: dict[int, tuple[list[int], list[LineRow]]] = {}
        self._tables: dict[tuple[int, int], LineTable] = {}

    def of_file(self, file: str) -> list[FileLines]:
        """The lines of the files of that name, or whose path ends in it. Raises DebugInfoError."""
        if file not in self._files:
            found = [FileLines(*each, self._recorded(*each[:2])) for each in self.tables(file)]
            self._files[file] = found
        return self._files[file]

    def tables(self, file: str) -> list[tuple[DebugUnit, LineTable, frozenset[int]]]:
        """The tables of units that have a file of that name, or whose path ends in it; and the numbers of such
        files."""
        main, found = self._main, []
        name = file.rpartition("/")[2].encode()
        places = {each.to_bytes(4, "little") for each in tables_naming(main.sections, name, self._shared)}
        for unit in main.units:
            # Only a unit that has the place of such a table among its first bytes is looked at.
            first = main.info[unit.entries : unit.entries + _LONGEST_HEAD]
            if not any(each in first for each in places):
                continue
            head = main.head(unit)
            if head.statements is None or head.tag == TAG_PARTIAL_UNIT:
                continue
            table = self.table(main, head.statements, head.directory)
            numbers = frozenset(at for at, path in enumerate(table.files) if is_file(path, file))
            if numbers:
                found.append((unit, table, numbers))
        return found

    def table(self, source: EntrySource, offset: int, directory: str) -> LineTable:
        """The table at an offset of a file's .debug_line."""
        key = id(source), offset
        if key not in self._tables:
            self._tables[key] = LineTable(source.sections, offset, directory, self._shared, source.costs)
        return self._tables[key]

    def at(self, unit: DebugUnit, address: int) -> tuple[str, int] | None:
        """The file and line of a link-time address, if this unit of the main file has code there. Raises
        DebugInfoError."""
        head = self._main.head(unit)
        if head.statements is None:
            return None
        table = self.table(self._main, head.statements, head.directory)
        starts, rows = self._sequences(unit, table)
        place = bisect_right(starts, address) - 1
        row = rows[place] if place >= 0 else None
        return (table.files[row.file], row.line) if row is not None and not row.ends and row.line else None

    def _sequences(self, unit: DebugUnit, table: LineTable) -> tuple[list[int], list[LineRow]]:
        """All rows by address: where one sequence ends as another begins, the beginning counts."""
        if unit.offset not in self._every:
            rows = sorted(table.rows(), key=lambda row: (row.address, not row.ends))
            if sum(len(each) for _, each in self._every.values()) + len(rows) > _MOST_ROWS:
                self._every.clear()
            self._every[unit.offset] = [row.address for row in rows], rows
        return self._every[unit.offset]

    def _recorded(self, unit: DebugUnit, table: LineTable) -> list[LineRow]:
        if unit.offset not in self._rows:
            rows = sorted(recorded(table.rows()), key=attrgetter("address"))
            kept = sum(map(len, self._rows.values()))
            if kept + len(rows) > _MOST_ROWS:
                self._rows.clear()
                self._files.clear()
                self._main.costs.give_back(_ROW_SIZE * kept)
            self._main.costs.take(_ROW_SIZE * len(rows))
            self._rows[unit.offset] = rows
        return self._rows[unit.offset]


def is_file(path: str, file: str) -> bool:
    """Whether a path is that of a file that is named by the end of it."""
    return path == file or path.endswith(f"/{file}")


def recorded(rows: list[LineRow]) -> list[LineRow]:
    """The rows a debugger keeps: a further row of the same line is none if only its discriminator tells it apart, one
    of another file is none if it is no statement and one was there; and lines that are left at the address they begin
    at have no code."""
    kept: dict[int, list[LineRow]] = {}
    previous: LineRow | None = None
    at, is_discriminated, statement_there = -1, False, False
    for row in rows:
        if row.address != at:
            statement_there = False
        is_other_file = previous is not None and previous.file != row.file
        ignored = not row.ends and (
            not row.line or (is_other_file and at == row.address and not row.is_statement and statement_there)
        )
        if previous is not None and ((is_other_file and not ignored) or row.ends):
            _finish(kept[previous.file], row)
        same_line = previous is not None and previous.line == row.line
        is_discriminated = row.has_discriminator or (same_line and is_discriminated)
        if row.ends:
            previous = None
        elif not ignored:
            if is_other_file or not same_line or not is_discriminated:
                kept.setdefault(row.file, []).append(row)
            previous = row
        at, statement_there = row.address, statement_there or row.is_statement
    return [row for rows in kept.values() for row in rows]


def _finish(rows: list[LineRow], end: LineRow) -> None:
    """Lines of one file end at an address, where those of another begin."""
    while rows and rows[-1].address == end.address:
        rows.pop()
    rows.append(LineRow(end.address, end.file, 0, True, end.ends, end.has_discriminator, end.ends_prologue))
