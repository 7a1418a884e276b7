"""One cell: traced to its end, or in the background, with a view that is brought up to date meanwhile."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress

from sonde.library.events import Record
from sonde.library.notebook.arguments import CellRequest
from sonde.library.notebook.trace import CellTrace
from sonde.library.notebook.view import CellView, record_text
from sonde.library.rich_text import aggregation_text, shown
from sonde.library.shortest import trace as run_of
from sonde.typed import Any

_TURN = 0.5
"""Seconds between two views."""
_NAP = 0.1
_REST = 3
"""Views are at least so many times as far apart as one takes."""


def begun(request: CellRequest, program: str) -> CellTrace:
    """The trace of a cell, when all is attached. Raises Error."""
    run = run_of(
        program, request.command, request.pids, language=request.language, options=dict(request.options),
        arguments=request.arguments, engine=request.engine, duration=request.duration,
    )  # fmt: skip
    trace = CellTrace(run, request)
    trace.begin()
    return trace


async def follow_in_kernel(trace: CellTrace, is_background: bool) -> None:
    """Show the trace below its cell, to its end unless that goes on in the background."""
    view = _View(trace)
    if is_background:
        # In a thread: other cells may keep the kernel's busy.
        threading.Thread(target=lambda: asyncio.run(view.follow()), name="sonde-view", daemon=True).start()
    else:
        await view.follow()


class _View:
    """What stands below the cell: a button that stops the trace, and the view."""

    def __init__(self, trace: CellTrace) -> None:
        from IPython.display import display  # an extra

        self._trace = trace
        self._button = stop_button(trace)
        if self._button is not None:
            display(self._button)
        self._handle = display(CellView(trace), display_id=True)

    async def follow(self) -> None:
        """Bring it up to date until the trace is over. The kernel's interrupt, which cancels what a cell waits for,
        stops the trace."""
        due = time.monotonic() + _TURN
        while not self._trace.is_over:
            try:
                await asyncio.sleep(_NAP)
                if time.monotonic() >= due:
                    due = self._update()
            except (asyncio.CancelledError, KeyboardInterrupt):
                self._trace.stop()
        self._trace.close()
        self._update()
        if self._button is not None:
            self._button.close()

    def _update(self) -> float:
        """Show it as it is; when to do so again."""
        begun = time.monotonic()
        self._trace.look()
        self._handle.update(CellView(self._trace))
        now = time.monotonic()
        return now + max(_TURN, _REST * (now - begun))


def stop_button(trace: CellTrace) -> Any:
    """None where there are no widgets: the kernel's interrupt stops the trace, too."""
    with suppress(ImportError):
        import ipywidgets  # an extra

        button = ipywidgets.Button(description="Stop", icon="stop", tooltip="End this trace")
        button.on_click(lambda _: trace.stop())
        return button
    return None


def follow_in_terminal(trace: CellTrace) -> None:
    """Print records as they come, and at the end what was counted. Raises Error."""
    printed = 0
    while True:
        is_over = trace.is_over
        try:
            fresh = min(trace.were - printed, len(trace.records))
            printed += fresh
            for each in _newest(trace, fresh):
                print(record_text(each), flush=True)
            if is_over:
                break
            trace.wait(_TURN)
            trace.look()
        except KeyboardInterrupt:
            trace.stop()
    trace.close()
    for text in trace.messages:
        print(shown(text))
    trace.require_well()
    for found in trace.aggregations.values():
        print(aggregation_text(found.heading, found.snapshot()))


def _newest(trace: CellTrace, count: int) -> list[Record]:
    """The last records, of which the trace's thread may add more meanwhile."""
    records = trace.records.copy()
    return [*records][len(records) - count :] if count else []
