"""The report of a session as tables, written to files while it is traced."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from sonde.consume.options import Options
from sonde.library.arrow_aggregations import AggregationTables
from sonde.library.arrow_batches import RecordBatches, row_of
from sonde.library.arrow_schema import table_columns
from sonde.library.data_report import DataReport
from sonde.library.event_sink import EventSink
from sonde.library.events import Aggregation, Event, Exit
from sonde.library.values import Values
from sonde.model.probe import Probe
from sonde.model.records import RecordLayout
from sonde.model.spec import TracingSpec
from sonde.typed import Any, Protocol

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


class TableReport(DataReport):
    """A report that gives tables to `taker`. What is no record is told as well."""

    title = "a table"

    def __init__(
        self, spec: TracingSpec, options: Options, values: Values, offset: int, taker: Tables,
        tell: Callable[[Event], None],
    ) -> None:  # fmt: skip
        columns = table_columns(spec, values, offset)
        self._batches = RecordBatches(columns, spec.strings, values, offset)
        self._batches.learn(spec.probes)
        self._aggregations = AggregationTables(spec)
        self.events = EventSink(spec, options, values, self._take)
        self._taker = taker
        self._tell = tell
        self._due = time.monotonic() + _TURN
        taker.begin(columns.schema, self._aggregations.schemas)

    def run(self, layout: RecordLayout, data: memoryview, stride: int) -> None:
        self._batches.add(layout, data, stride)
        if self._batches.is_full:
            self._taker.records(self._batches.take())

    def learn(self, probes: Iterable[Probe]) -> None:
        found = [*probes]
        self._batches.learn(found)
        super().learn(found)

    def flush(self) -> None:
        self.events.flush()
        self._batches.name()
        if time.monotonic() >= self._due:
            self._turn()

    def _turn(self) -> None:
        if not self._batches.is_empty:
            self._taker.records(self._batches.take())
        self._taker.settle()
        self._due = time.monotonic() + _TURN

    def close(self) -> None:
        self.events.flush()
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
