"""Records and events gathered into batches of rows, in the order of their times."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sonde.formats.bpf_ring import RING_HEADER
from sonde.library.arrow_columns import (
    SYMBOLIC,
    Array,
    ReadColumns,
    RecordRun,
    statement_reader,
    texts_of,
)
from sonde.library.arrow_schema import EVENT, FIXED, Statement, TableColumns
from sonde.library.arrow_values import STRING, TIME, absent, array_of
from sonde.library.events import Event, Exit, Loss, Message, ProbeError, Record
from sonde.library.own_values import has_names
from sonde.library.record_reader import fields_of
from sonde.library.values import Values
from sonde.model.probe import Probe
from sonde.model.records import CPU_AT, PROBE_AT, RecordLayout
from sonde.model.units import MIB
from sonde.typed import Any, NamedTuple
from sonde.visible import unicode_text

Table = Any
"""A pyarrow.Table."""

_MOST = 8 * MIB
"""Bytes of records that are gathered before they become rows."""

KINDS = ("record", "loss", "error", "message", "exit")
"""What a row may be: the dictionary of the column `event`."""

_TIME, _CPU, _PROBE, _STATEMENT, _NUMBER, _TEXT = range(1, len(FIXED))


class EventRow(NamedTuple):
    """A row that is no record: its place in KINDS, and what its columns have."""

    kind: int
    time: int
    text: str
    number: int | None = None
    cpu: int | None = None
    probe: str | None = None


class RecordBatches:
    """Gathers what a run records. `offset` is added to times, ns."""

    def __init__(self, columns: TableColumns, strings: Sequence[bytes], values: Values, offset: int) -> None:
        self.schema = columns.schema
        self._statements = columns.statements
        self._strings = strings
        self._values = values
        self._offset = offset
        self._probes: dict[int, str] = {}
        self._readers: dict[tuple[int, int], list[ReadColumns]] = {}
        self._waiting: dict[tuple[int, int], list[bytes]] = {}
        self._layouts: dict[int, RecordLayout] = {}
        self._size = 0
        self._is_symbolic = False
        self._events: list[EventRow] = []
        self._tables: list[Table] = []

    def learn(self, probes: Sequence[Probe]) -> None:
        for each in probes:
            self._probes[each.id] = unicode_text(f"{each.provider}:{each.module}:{each.function}:{each.name}")

    @property
    def is_full(self) -> bool:
        """Whether rows had better be taken: what waits is kept in memory."""
        return self._size >= _MOST

    @property
    def is_empty(self) -> bool:
        return not (self._waiting or self._events or self._tables)

    def add(self, layout: RecordLayout, data: memoryview, stride: int) -> None:
        """Records as `Sink.run` has them."""
        self._waiting.setdefault((layout.number, stride), []).append(bytes(data))
        self._size += len(data)
        if layout.number not in self._layouts:
            self._layouts[layout.number] = layout
        self._is_symbolic |= _is_symbolic(layout)

    def add_records(self, records: Sequence[Record]) -> None:
        """Records as the library has them."""
        groups: dict[tuple[int, int], list[Record]] = {}
        for each in records:
            groups.setdefault(each.names.statement, []).append(each)
        for (number, place), group in groups.items():
            statement = next(each for each in self._statements[number] if each.place == place)
            found = {
                0: _kinds(pa.array(bytes(len(group)), pa.uint8())),
                _CPU: pa.array([each.cpu for each in group], pa.uint32()),
                _TIME: pa.array([each.time + self._offset for each in group], TIME),
                _PROBE: array_of([str(each.probe) for each in group], STRING),
                **_of_statement(statement, len(group)),
            }  # fmt: skip
            # What has no values has its words for one.
            recorded = zip(*[each.values for each in group], strict=True) if statement.types else ()
            parts = zip(statement.columns, statement.types, recorded, strict=True)
            found |= {column: array_of(part, wanted) for column, wanted, part in parts}
            self._tables.append(self._table(found, len(group)))

    def event(self, row: EventRow) -> None:
        self._events.append(row)

    def name(self) -> None:
        """Read what has addresses in it, as long as these have names."""
        if self._is_symbolic:
            self._read()

    def take(self) -> Table:
        """All rows that there are, as a table of one chunk, in the order of their times."""
        self._read()
        parts, self._tables, self._size = self._tables, [], 0
        if self._events:
            parts.append(self._event_table())
            self._events = []
        elif len(parts) < 2:
            # Records may have nothing that is shown.
            return parts[0] if parts else self.schema.empty_table()
        return pa.concat_tables(parts).unify_dictionaries().combine_chunks().sort_by("time")

    def _read(self) -> None:
        """Make rows of the bytes that wait."""
        waiting, self._waiting = self._waiting, {}
        self._is_symbolic = False
        for (number, stride), parts in waiting.items():
            run = RecordRun(b"".join(parts), stride)
            self._tables += self._rows(self._layouts[number], run, stride)

    def _rows(self, layout: RecordLayout, run: RecordRun, stride: int) -> list[Table]:
        """A table for each statement of a layout."""
        statements = self._statements[layout.number]
        readers = self._readers.get((layout.number, stride))
        if readers is None:
            readers = self._readers[layout.number, stride] = [
                statement_reader(layout, each.action, each.types, stride, self._strings, self._values)
                for each in statements
            ]
        fixed = self._fixed(layout, run)
        made = []
        for statement, read in zip(statements, readers, strict=True):
            found = dict(zip(statement.columns, read(run), strict=True)) if statement.types else {}
            made.append(self._table({**fixed, **_of_statement(statement, run.count), **found}, run.count))
        return made

    def _fixed(self, layout: RecordLayout, run: RecordRun) -> dict[int, Array]:
        probes = run.integers(RING_HEADER + PROBE_AT, 4, pa.uint32())
        found = {
            0: _kinds(pa.array(bytes(run.count), pa.uint8())),
            _CPU: run.integers(RING_HEADER + CPU_AT, 4, pa.uint32()),
            _PROBE: texts_of(probes, self._probes.__getitem__),
        }
        if layout.time is not None:
            times = run.integers(RING_HEADER + layout.time.offset, layout.time.size, pa.int64())
            found[_TIME] = pc.add(times, self._offset).cast(TIME)
        return found

    def _table(self, found: dict[int, Array], count: int) -> Table:
        whole = [
            found[place] if place in found else absent(count, field.type) for place, field in enumerate(self.schema)
        ]
        return pa.Table.from_arrays(whole, schema=self.schema)

    def _event_table(self) -> Table:
        kinds, times, texts, numbers, cpus, probes = zip(*self._events, strict=True)
        found = {
            0: _kinds(pa.array(kinds, pa.int8())), _TIME: pa.array(times, TIME), _CPU: pa.array(cpus, pa.uint32()),
            _PROBE: pa.array(probes, STRING), _NUMBER: pa.array(numbers, pa.int64()), _TEXT: pa.array(texts, STRING),
        }  # fmt: skip
        return self._table(found, len(kinds))


def _is_symbolic(layout: RecordLayout) -> bool:
    fields = [field for action in layout.actions for field in fields_of(action)]
    return any(field.kind in SYMBOLIC or has_names(field) for field in fields)


def _kinds(indices: Array) -> Array:
    return pa.DictionaryArray.from_arrays(indices.cast(EVENT.index_type), pa.array(KINDS))


def _of_statement(statement: Statement, count: int) -> dict[int, Array]:
    """The columns that say which statement a row is of."""
    found = {_STATEMENT: pa.nulls(count, pa.uint32()).fill_null(statement.number)} if statement.number else {}
    if statement.text is not None:
        places = pa.array(bytes(4 * count), pa.uint8())
        places = pa.Array.from_buffers(pa.int32(), count, [None, places.buffers()[1]])
        found[_TEXT] = pa.DictionaryArray.from_arrays(places, pa.array([statement.text]))
    return found


def row_of(event: Event) -> EventRow:
    """The row of an event that is no record."""
    now = time.time_ns()
    match event:
        case Loss():
            return EventRow(KINDS.index("loss"), now, unicode_text(event.text), event.lost, event.cpu)
        case ProbeError():
            probe = unicode_text(str(event.probe))
            return EventRow(KINDS.index("error"), now, unicode_text(event.text), probe=probe)
        case Message():
            return EventRow(KINDS.index("message"), now, unicode_text(event.text))
        case Exit():
            return EventRow(KINDS.index("exit"), now, f"exit({event.status})", event.status)
        case _:
            raise TypeError(f"{type(event).__name__} has no row")
