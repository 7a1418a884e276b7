"""A run whose records and aggregations become files of tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack

import pyarrow as pa

from sonde.consume.options import Options
from sonde.library.arrow_batches import row_of
from sonde.library.arrow_report import TableReport
from sonde.library.data.table_files import ParquetParts, StreamFile, TableFile, close_all, parquet_file
from sonde.library.errors import Error, aborted
from sonde.library.foreground import Ended, Job, Outlet, Tell, run_here
from sonde.library.holding import Held
from sonde.library.outputs import STANDARD_OUTPUT, require_apart
from sonde.library.source_positions import SourcePositions
from sonde.library.values import Values
from sonde.model.spec import TracingSpec
from sonde.session.participants import MakeReport, Sight
from sonde.typed import Any

OpenTable = Callable[[str, Any], TableFile]


class WrittenTables:
    """The files of a run, in a format: `path` has the records, and beside it each aggregation has one with its name."""

    def __init__(self, path: str, open_table: OpenTable, tell: Tell) -> None:
        self._path = path
        self._open = open_table
        self._tell = tell
        self._records: TableFile | None = None
        self._aggregations: dict[str, TableFile] = {}
        self._untold: set[str] = set()
        self._report: TableReport | None = None

    def report_to(self, outlet: Outlet) -> MakeReport:
        """What makes the report (`sonde.library.foreground.ReportTo`)."""

        def report(spec: TracingSpec, options: Options) -> TableReport:
            values = Values(outlet.names, spec.types, SourcePositions(outlet.names).find)
            self._report = TableReport(
                spec, options, values, outlet.realtime_offset, self, lambda event: self._tell(row_of(event).text)
            )
            return self._report

        return report

    def begin(self, records: Any, aggregations: dict[str, Any]) -> None:
        self._records = self._open(self._path, records)
        if self._path == STANDARD_OUTPUT:
            self._untold |= aggregations.keys()
            return
        for name, schema in aggregations.items():
            self._aggregations[name] = self._open(path_beside(self._path, name), schema)

    def records(self, table: Any) -> None:
        assert self._records is not None
        self._records.write(table)

    def settle(self) -> None:
        for each in self._files():
            each.settle()

    def aggregation(self, name: str, table: Any) -> None:
        if name in self._aggregations:
            self._aggregations[name].write(table)
        elif name in self._untold:
            self._untold.discard(name)
            shown = f"@{'' if name == '_' else name}"
            self._tell(f"aggregation {shown} has no place in a stream of records: -o FILE gives it a file")

    def end(self, status: int) -> None:
        """The run has ended with that argument of exit(). Raises OSError."""
        assert self._report is not None
        self._report.finish(status)
        files, self._records, self._aggregations = self._files(), None, {}
        with ExitStack() as closing:
            for each in files:
                closing.callback(each.close)

    def close(self) -> None:
        """Let go of the files, also where there was no end."""
        close_all(self._files())

    def _files(self) -> list[TableFile]:
        return [*([self._records] if self._records is not None else []), *self._aggregations.values()]


def path_beside(path: str, name: str) -> str:
    """Where an aggregation goes: `trace.calls.arrow` beside `trace.arrow`."""
    stem, ending = os.path.splitext(path)
    return f"{stem}.{name}{ending}"


def run_as_tables(
    job: Job, held: Held, tell: Tell, output: str | None, begun: Callable[[Sight], None],
    attached: Callable[[], None] | None = None,
) -> Ended:  # fmt: skip
    """Trace to the end, as `run_here` does, and write tables. Raises Error."""
    path = output or STANDARD_OUTPUT
    require_apart((path,), (job.options.text("packets"), job.options.text("replay")))
    kind = _kind(job, path)
    tables = WrittenTables(path.rstrip("/") if kind is ParquetParts else path, kind, tell)
    try:
        ended = run_here(job, held, tell, begun=begun, attached=attached, report_to=tables.report_to)
        tables.end(ended.status)
    except OSError as error:
        raise aborted(error) from None
    except pa.ArrowException as error:
        raise Error(f"failed to write '{path}': {error}") from None
    finally:
        tables.close()
    return ended


def _kind(job: Job, path: str) -> OpenTable:
    """What opens such files. Raises Error."""
    is_standard = path == STANDARD_OUTPUT
    if is_standard and os.isatty(1):
        raise Error("tables are not for a terminal", "-o FILE writes them to a file")
    if job.options.text("format") == "arrow":
        return StreamFile
    if is_standard:
        raise Error("a Parquet file is not written to the standard output", "-o FILE.parquet, or -f arrow")
    is_folder = path.endswith("/") or job.options.text("parquet") == "parts"
    return ParquetParts if is_folder else parquet_file
