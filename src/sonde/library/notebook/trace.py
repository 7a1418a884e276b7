"""What a cell traces: a run, whose events are taken by a thread and kept, for the cell's view and for what follows."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping

from sonde.library import aggregations as library_aggregations
from sonde.library import arrow_extra, arrow_runs
from sonde.library.aggregations import LiveAggregation
from sonde.library.errors import Error
from sonde.library.events import Event, Exit, Loss, Message, ProbeError, Record
from sonde.library.histograms import Histogram
from sonde.library.notebook.arguments import CellRequest
from sonde.library.rich_pictures import HeatMap
from sonde.library.run import Run
from sonde.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sonde.library.request import Begun

MESSAGES = 20
"""That are kept, the last."""


class CellTrace:
    """What a cell has traced, or traces: `aggregations` by their names, the last `records`, `losses`, `messages`, and
    how many records there `were` in all. `stop()` ends it."""

    def __init__(self, run: Run, request: CellRequest) -> None:
        self.records: deque[Record] = deque(maxlen=request.kept)
        self.messages: deque[str] = deque(maxlen=MESSAGES)
        self.were = 0
        self.exit_status: int | None = None
        self.error: Exception | None = None
        self.heat_maps: dict[str, HeatMap] = {}
        self._run = run
        self._begun_at = time.monotonic()
        self._ended_at: float | None = None
        self._thread = threading.Thread(target=self._take, name="sonde-cell", daemon=True)

    def begin(self) -> None:
        """All is attached when this returns. Raises Error."""
        self._run.__enter__()
        self._begun_at = time.monotonic()
        self.look()
        self._thread.start()

    @property
    def aggregations(self) -> Mapping[str, LiveAggregation]:
        return self._run.aggregations

    @property
    def losses(self) -> list[Loss]:
        return self._run.losses

    @property
    def is_over(self) -> bool:
        return not self._thread.is_alive()

    @property
    def seconds(self) -> float:
        """How long it has gone on."""
        return (self._ended_at or time.monotonic()) - self._begun_at

    def stop(self) -> None:
        """Ask for the end: END fires, and aggregations stay as they are then."""
        self._run.stop()

    def wait(self, seconds: float | None = None) -> None:
        """Until it is over, or so long."""
        self._thread.join(seconds)

    def require_well(self) -> None:
        """Raises Error where it has ended by one."""
        if self.error is not None:
            raise self.error if isinstance(self.error, Error) else Error(str(self.error))

    def close(self) -> None:
        """Detach all."""
        self._run.__exit__(None, None, None)

    def look(self) -> None:
        """Let the heat maps of histograms go on to now."""
        for name, each in self.aggregations.items():
            rows = each.snapshot()
            if name in self.heat_maps:
                self.heat_maps[name].take(rows)
            elif each.function and issubclass(_kind(each), Histogram):
                # A command may have done all that it does before anybody has looked.
                self.heat_maps[name] = HeatMap(each, is_whole=True)
                self.heat_maps[name].take(rows)

    def to_arrow(self) -> Any:
        """The records that are kept, and the end, as a pyarrow.Table (docs/data.md). Raises Error."""
        arrow_extra.require_arrow()

        begun: Begun | None = self._run.begun
        if begun is None:
            raise Error("this trace has no records")
        ends: list[Event] = [] if self.exit_status is None else [Exit(self.exit_status)]
        return arrow_runs.tables_of([[*self.records, *ends]], begun).read_all()

    def to_pandas(self) -> Any:
        """The same as a pandas.DataFrame."""
        return arrow_extra.frame_of(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The same for any reader of Arrow's C stream interface."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    # In a thread of its own.

    def _take(self) -> None:
        try:
            for events in self._run.batches():
                for each in events:
                    self._note(each)
        except Exception as error:
            self.error = error
        finally:
            self._ended_at = time.monotonic()

    def _note(self, event: Event) -> None:
        match event:
            case Record():
                self.were += 1
                self.records.append(event)
            case Loss() | ProbeError() | Message():
                self.messages.append(event.text)
            case Exit():
                self.exit_status = event.status


def _kind(aggregation: LiveAggregation) -> type:
    return library_aggregations.VALUES[aggregation.function]
