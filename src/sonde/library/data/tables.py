"""The way to tables of Arrow: pyarrow is an extra, imported by who asks for it."""

from __future__ import annotations

from sonde.library.errors import Error
from sonde.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from sonde.library.aggregations import Look
    from sonde.library.foreground import Ended, Job, Tell
    from sonde.library.holding import Held


def require_arrow() -> Any:
    """The package pyarrow. Raises Error."""
    try:
        import pyarrow
    except ImportError:
        raise Error("tables are made by pyarrow, which is not there", "install sonde-trace[arrow]") from None
    return pyarrow


def run_as_tables(job: Job, held: Held, tell: Tell, output: str | None, begun: Callable[[Look], None]) -> Ended:
    """Trace to the end and write tables, as `data.arrow.written_tables`. Raises Error."""
    require_arrow()
    from sonde.library.data import written_tables

    return written_tables.run_as_tables(job, held, tell, output, begun)
