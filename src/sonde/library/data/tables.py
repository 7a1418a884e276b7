"""The way to files of tables."""

from __future__ import annotations

from sonde.library.arrow_extra import require_arrow
from sonde.library.data import written_tables
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from sonde.library.foreground import Ended, Job, Tell
    from sonde.library.holding import Held
    from sonde.session.participants import Sight


def run_as_tables(
    job: Job, held: Held, tell: Tell, output: str | None, begun: Callable[[Sight], None],
    attached: Callable[[], None] | None = None,
) -> Ended:  # fmt: skip
    """Trace to the end and write tables, as `data.arrow.written_tables`. Raises Error."""
    require_arrow()

    return written_tables.run_as_tables(job, held, tell, output, begun, attached)
