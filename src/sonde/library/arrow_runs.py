"""Runs as tables: of the records that they have made, or, where tables were asked for, of what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from sonde.consume.options import Options
from sonde.library.arrow_batches import RecordBatches, row_of
from sonde.library.arrow_report import TableReport
from sonde.library.arrow_schema import table_columns
from sonde.library.errors import Error
from sonde.library.events import Aggregation, Event, Exit, Record, TableBatch, Text
from sonde.library.request import Begun, Put
from sonde.library.values import Values
from sonde.model.spec import TracingSpec
from sonde.report.symbolizer import NoNames
from sonde.typed import Any


class _EventsOfTables:
    """Tables as events (`arrow_report.Tables`)."""

    def __init__(self, put: Put) -> None:
        self._put = put

    def begin(self, records: Any, aggregations: dict[str, Any]) -> None:
        """Each table has its schema."""

    def records(self, table: Any) -> None:
        self._put([TableBatch(None, table)])

    def settle(self) -> None:
        """They are on their way."""

    def aggregation(self, name: str, table: Any) -> None:
        self._put([TableBatch(name, table)])


def batch_report(spec: TracingSpec, options: Options, values: Values, offset: int, put: Put) -> TableReport:
    """A report that gives `TableBatch` events, and losses as such besides."""
    return TableReport(spec, options, values, offset, _EventsOfTables(put), lambda event: put([event]))


def tables_of(lists: Iterable[list[Event]], begun: Begun) -> Any:
    """The pyarrow.RecordBatchReader of what is in these lists. Raises Error of text."""
    values = Values(NoNames(), begun.spec.types)
    columns = table_columns(begun.spec, values, begun.realtime_offset)

    def new() -> RecordBatches:
        return RecordBatches(columns, begun.spec.strings, values, begun.realtime_offset)

    return pa.RecordBatchReader.from_batches(columns.schema, _batches(lists, new, begun.gives_tables))


def _batches(lists: Iterable[list[Event]], new: Callable[[], RecordBatches], are_tables: bool) -> Iterator[Any]:
    """`are_tables`: what is no record is in them already."""
    for events in lists:
        gathered = new()
        for each in events:
            match each:
                case TableBatch(name, table):
                    if name is None:
                        yield from table.to_batches()
                case Text():
                    raise Error("this run gives text: a table is made of records", "leave `output` out")
                case Exit():
                    gathered.event(row_of(each))
                case Record() | Aggregation():
                    """Below, and in the run's `aggregations`."""
                case _ if not are_tables:
                    gathered.event(row_of(each))
        gathered.add_records([each for each in events if isinstance(each, Record)])
        if not gathered.is_empty:
            yield from gathered.take().to_batches()
