"""The formats of a session's output: text, and those of data."""

from __future__ import annotations

from collections.abc import Callable

from sonde.library.data import json_report, tables
from sonde.library.foreground import Ended, Job, Tell, run_here
from sonde.library.holding import Held
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.session.participants import Sight

TEXT = "text"

LINES, TABLES = ("json",), ("arrow", "parquet")
"""Formats that have a line for each event, and those that are tables: with TEXT the values of the option `format`."""


def run_in_format(
    job: Job, held: Held, tell: Tell, output: str | None, begun: Callable[[Sight], None],
    attached: Callable[[], None] | None = None,
) -> Ended:  # fmt: skip
    """Trace to the end, as `run_here` does, with the output in the format that the job's options say. Raises Error."""
    name = job.options.text("format")
    if name in LINES:
        return json_report.run_as_json(job, held, tell, output, begun, attached)
    if name in TABLES:
        return tables.run_as_tables(job, held, tell, output, begun, attached)
    return run_here(job, held, tell, output=output, begun=begun, attached=attached)
