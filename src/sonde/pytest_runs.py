"""The fixture `sonde_run`: scripts run by tests that are written in Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import sonde
from sonde.library.shortest import trace_file
from sonde.typed import Any, NamedTuple


class TracedRun(NamedTuple):
    """What a run has given. `aggregations` have keys and values as `Run.aggregations` does; `command_status` is as
    wait(2) has it, None where there was no command or it has not ended."""

    events: tuple[sonde.Event, ...]
    aggregations: Mapping[str, Mapping[Any, Any]]
    exit_status: int
    command_status: int | None

    @property
    def records(self) -> tuple[sonde.Record, ...]:
        """What trace(), printf() and the like have recorded."""
        return tuple(each for each in self.events if isinstance(each, sonde.Record))

    @property
    def errors(self) -> tuple[sonde.ProbeError, ...]:
        """Clauses that were aborted."""
        return tuple(each for each in self.events if isinstance(each, sonde.ProbeError))

    @property
    def losses(self) -> tuple[sonde.Loss, ...]:
        """What was lost."""
        return tuple(each for each in self.events if isinstance(each, sonde.Loss))


def runner(directory: Path) -> Callable[..., TracedRun]:
    """What runs scripts of a directory."""

    def sonde_run(
        script: str | os.PathLike[str] | None = None, *, program: str | None = None, command: Any = None,
        pids: Sequence[int] = (), arguments: Sequence[object] = (), options: Mapping[str, Any] | None = None,
        engine: str = "embedded", duration: float | None = None,
    ) -> TracedRun:  # fmt: skip
        """Trace to the end with a script, a path from the test's directory on, or a program in D. Raises
        sonde.Error."""
        if (script is None) == (program is None):
            raise TypeError("sonde_run takes a script, or a program=")
        given = {"options": options, "arguments": arguments, "engine": engine}
        if program is not None:
            run = sonde.trace(program, command, pids, duration=duration, **given)  # type: ignore[arg-type]
        else:
            path = str(directory / Path(script or ""))
            run = trace_file(path, command, pids, duration=duration, **given)  # type: ignore[arg-type]
        with run:
            events = tuple(run)
        return TracedRun(events, run.aggregations, run.exit_status or 0, run.command_status)

    return sonde_run
