"""The report of a session as tables, written to files while it is traced."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from sonde.consume import events as consumed
from sonde.consume.events import Drop, Fault, ShownMap, Table
from sonde.consume.options import Options
from sonde.library.arrow_aggregations import AggregationTables
from sonde.library.arrow_batches import RecordBatches, row_of
from sonde.library.arrow_schema import table_columns
from sonde.library.event_sink import EventSink
from sonde.library.events import Aggregation, Event, Exit
from sonde.library.values import Values
from sonde.model.conversions import Conversion
from sonde.model.probe import Probe
from sonde.model.records import Action, RecordLayout
from sonde.model.samples import SampleSink
from sonde.model.spec import TracingSpec
from sonde.typed import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from sonde.captures.sink import Texts

_TURN = 1.0
"""Seconds after which what has come is written."""


class Tables(Protocol):
    """Takes the tables of a run: that of its records and events, which grows, and those of aggregations."""

    def begin(self, records: Any, aggregations: dict[str, Any]) -> None:
        """The schemas."""

    def records(self, table: Any) -> None: ...

    def settle(self) -> None:
        """A turn is over."""

    def aggregation(self, name: str, table: Any) -> None: ...


class TableReport:
    """A `session.Report` that gives tables to `taker`. What is no record is told as well."""

    def __init__(
        self, spec: TracingSpec, options: Options, values: Values, offset: int, taker: Tables,
        tell: Callable[[Event], None],
    ) -> None:  # fmt: skip
        columns = table_columns(spec, values, offset)
        self._batches = RecordBatches(columns, spec.strings, values, offset)
        self._batches.learn(spec.probes)
        self._aggregations = AggregationTables(spec)
        self._events = EventSink(spec, options, values, self._take)
        self._taker = taker
        self._tell = tell
        self._due = time.monotonic() + _TURN
        self.label = self._events.label
        taker.begin(columns.schema, self._aggregations.schemas)

    def run(self, layout: RecordLayout, data: memoryview, stride: int) -> None:
        self._batches.add(layout, data, stride)
        if self._batches.is_full:
            self._taker.records(self._batches.take())

    def begin(self, record: consumed.Record) -> None:
        self.run(record.layout, record.data, len(record.data))

    def end(self, record: consumed.Record) -> None:
        """Nothing follows."""

    def action(self, record: consumed.Record, action: Action) -> None:
        self._events.action(record, action)

    def table(self, table: Table, conversions: tuple[Conversion, ...] | None) -> None:
        self._events.table(table, conversions)

    def remaining(self, tables: Sequence[Table]) -> None:
        self._events.remaining(tables)

    def show(self, shown: ShownMap) -> None:
        """A map of bpftrace's language."""
        self._events.show(shown)

    def refusal(self, record: consumed.Record, reason: str) -> None:
        self._events.refusal(record, reason)

    def fault(self, fault: Fault) -> None:
        self._events.fault(fault)

    def drop(self, drop: Drop) -> None:
        self._events.drop(drop)

    def learn(self, probes: Iterable[Probe]) -> None:
        found = [*probes]
        self._batches.learn(found)
        self._events.learn(found)

    def missing(self, text: str) -> None:
        self._events.missing(text)

    def gone(self, device: str) -> None:
        self._events.gone(device)

    def blank_line(self) -> None:
        """For terminals."""

    def sample_lines(self) -> SampleSink:
        return self._events.sample_lines()

    @property
    def is_data(self) -> bool:
        return True

    @property
    def is_switched(self) -> bool:
        """The output stays the same."""
        return False

    def texts(self, actions: Sequence[Action], stride: int) -> Texts:
        return self._events.texts(actions, stride)

    def flush(self) -> None:
        self._events.flush()
        self._batches.name()
        if time.monotonic() >= self._due:
            self._turn()

    def _turn(self) -> None:
        if not self._batches.is_empty:
            self._taker.records(self._batches.take())
        self._taker.settle()
        self._due = time.monotonic() + _TURN

    def close(self) -> None:
        self._events.flush()
        self._turn()

    def finish(self, status: int) -> None:
        """The run has come to its end with that argument of exit()."""
        self._batches.event(row_of(Exit(status)))
        self._turn()

    def _take(self, events: list[Event]) -> None:
        for each in events:
            if isinstance(each, Aggregation):
                for name, table in self._aggregations.tables(each, time.time_ns()).items():
                    self._taker.aggregation(name, table)
            else:
                self._batches.event(row_of(each))
                self._tell(each)
