"""One cell: traced to its end, or in the background, with a view that is brought up to date meanwhile."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from sonde.library.errors import Error
from sonde.library.events import Record
from sonde.library.notebook.arguments import CellRequest
from sonde.library.notebook.trace import Trace
from sonde.library.notebook.view import CellView, record_text
from sonde.library.rich_text import aggregation_text
from sonde.library.shortest import trace as run_of
from sonde.typed import Any

_TURN = 0.5
"""Seconds between two views."""
_REST = 3
"""Views are at least so many times as far apart as one takes."""


def trace_cell(shell: Any, request: CellRequest, program: str) -> Trace:
    """Trace with the program of a cell. Raises Error."""
    run = run_of(
        program, request.command, request.pids, language=request.language, options=dict(request.options),
        arguments=request.arguments, engine=request.engine, duration=request.duration,
    )  # fmt: skip
    trace = Trace(run, request)
    trace.begin()
    if not hasattr(shell, "kernel"):
        _follow_in_terminal(trace)
        return trace
    view = _View(trace)
    if request.is_background:
        threading.Thread(target=view.follow, name="sonde-view", daemon=True).start()
    else:
        view.follow()
        if trace.error is not None:
            raise trace.error if isinstance(trace.error, Error) else Error(str(trace.error))
    return trace


class _View:
    """What stands below the cell: a button that stops the trace, and the view."""

    def __init__(self, trace: Trace) -> None:
        from IPython.display import display

        self._trace = trace
        self._button = stop_button(trace)
        if self._button is not None:
            display(self._button)
        self._handle = display(CellView(trace), display_id=True)

    def follow(self) -> None:
        """Bring it up to date until the trace is over. ^C, or the kernel's interrupt, stops the trace."""
        pause = _TURN
        while not self._trace.is_over:
            try:
                self._trace.wait(pause)
                begun = time.monotonic()
                self._trace.look()
                self._handle.update(CellView(self._trace))
                pause = max(_TURN, _REST * (time.monotonic() - begun))
            except KeyboardInterrupt:
                self._trace.stop()
        self._trace.close()
        self._trace.look()
        self._handle.update(CellView(self._trace))
        if self._button is not None:
            self._button.close()


def stop_button(trace: Trace) -> Any:
    """None where there are no widgets: the kernel's interrupt stops the trace, too."""
    with suppress(ImportError):
        import ipywidgets

        button = ipywidgets.Button(description="Stop", icon="stop", tooltip="End this trace")
        button.on_click(lambda _: trace.stop())
        return button
    return None


def _follow_in_terminal(trace: Trace) -> None:
    """Print records as they come, and at the end what was counted."""
    shown = 0
    while True:
        is_over = trace.is_over
        try:
            fresh = min(trace.were - shown, len(trace.records))
            shown += fresh
            for each in _newest(trace, fresh):
                print(record_text(each), flush=True)
            if is_over:
                break
            trace.wait(_TURN)
        except KeyboardInterrupt:
            trace.stop()
    trace.close()
    for text in trace.messages:
        print(text)
    if trace.error is not None:
        raise trace.error if isinstance(trace.error, Error) else Error(str(trace.error))
    for found in trace.aggregations.values():
        print(aggregation_text(found.heading, found.snapshot()))


def _newest(trace: Trace, count: int) -> list[Record]:
    """The last records, of which the trace's thread may add more meanwhile."""
    records = trace.records.copy()
    return [*records][len(records) - count :] if count else []
