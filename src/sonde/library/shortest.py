"""The shortest way from a text to its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.library.given import Command, command_of, duration_of, output_of, path_of, pids_of
from sonde.library.outputs import NO_FILES, Files, files_of
from sonde.library.request import Request
from sonde.library.run import Run, run_of
from sonde.library.script import made
from sonde.library.settings import OptionValue, option_table
from sonde.library.sources import Programs, Source, given_source, source_of
from sonde.typed import Any


def trace(
    text: Programs, command: Command | None = None, pids: Sequence[int] = (), *,
    language: str = "d", options: Mapping[str, OptionValue] | None = None, arguments: Sequence[object] = (),
    engine: str = "auto", duration: float | None = None, output: Any = None, files: Files = NO_FILES,
) -> Run:  # fmt: skip
    """Compile a program and trace with it; see `sonde.compile` and `Script.run`. The program is compiled when the block
    begins, for the processes that are there then, so that `pid$target` can name them. Raises what both do."""
    source = given_source(text, language, options, arguments, None)
    return _run(source, command, pids, engine, duration, output, files)


def trace_file(
    path: str, command: Command | None = None, pids: Sequence[int] = (), *,
    options: Mapping[str, OptionValue] | None = None, arguments: Sequence[object] = (), engine: str = "auto",
    duration: float | None = None,
) -> Run:  # fmt: skip
    """The same with a script in D, for what is compiled for the processes, too."""
    source = source_of([("file", path_of(path))], "d", options, arguments, None)
    return _run(source, command, pids, engine, duration, None, NO_FILES)


def _run(
    source: Source, command: Command | None, pids: Sequence[int], engine: str, duration: float | None, output: Any,
    files: Files,
) -> Run:  # fmt: skip
    return run_of(
        Request(
            lambda chosen, process, prepare: made(source, chosen, process or None, prepare),
            option_table(source.options),
            command_of(command), pids_of(pids), engine, duration_of(duration), output_of(output), files_of(files),
        )
    )  # fmt: skip
