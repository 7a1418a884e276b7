"""Probe functions run, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.library.given import Command
from sonde.library.outputs import NO_FILES, Files
from sonde.library.probing.decorating import ProbeFunction
from sonde.library.run import Run
from sonde.library.settings import OptionValue
from sonde.library.shortest import trace
from sonde.typed import Any


def run(
    *probes: ProbeFunction, command: Command | None = None, pids: Sequence[int] = (),
    options: Mapping[str, OptionValue] | None = None, engine: str = "auto", duration: float | None = None,
    output: Any = None, files: Files = NO_FILES,
) -> Run:  # fmt: skip
    """Trace with probe functions: see `sonde.trace`, of which this is the form for Python. They are compiled when the
    block begins, and constants that they use are those of now. Raises CompileError, and what `sonde.trace` does."""
    if not probes:
        raise TypeError("sonde.run takes probe functions: sonde.run(entered, left)")
    return trace(
        probes, command, pids, options=options, engine=engine, duration=duration, output=output, files=files
    )  # fmt: skip
