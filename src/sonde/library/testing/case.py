"""One case of a test file as a value, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType

from sonde.typed import Any, NamedTuple

SUFFIX = ".sonde.toml"
"""What the names of test files end in."""

EMBEDDED, KERNEL, BOTH = "embedded", "kernel", "both"
ENGINES = (EMBEDDED, KERNEL, BOTH)


class ScriptCase(NamedTuple):
    """`path` is the test file, `name` the case's, "" where the whole file is one; all else is as the file has it
    (docs/testing.md), its words split. None: nothing is expected of that."""

    path: str
    name: str
    script: str = ""
    program: str = ""
    object: str = ""
    command: str = ""
    before: str = ""
    recording: str = ""
    packets: str = ""
    engine: str = EMBEDDED
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    input: str = ""
    interrupt_after: float = 0.0
    timeout: float = 30.0
    needs: tuple[str, ...] = ()
    status: int = 0
    output: str | None = None
    output_file: str = ""
    output_contains: tuple[str, ...] = ()
    output_lacks: tuple[str, ...] = ()
    command_output: str | None = None
    stderr: str | None = None
    stderr_contains: tuple[str, ...] = ()
    stderr_lacks: tuple[str, ...] = ()
    losses: bool = False
    aggregations: tuple[str, ...] = ()

    @property
    def directory(self) -> str:
        """Where the case runs, and where its files are looked for."""
        return os.path.dirname(self.path) or "."

    @property
    def title(self) -> str:
        """The file and the case, as it is called where it is told of."""
        return f"{self.path}: {self.name}" if self.name else self.path

    @property
    def engines(self) -> tuple[str, ...]:
        """Those it is run on."""
        return (EMBEDDED, KERNEL) if self.engine == BOTH else (self.engine,)


class Ran(NamedTuple):
    """What one run of a case gave. `line` is the command line, as one would type it; `aggregations` are None where
    nobody asked for them. `behind` has for `output`, `command-output` and `stderr` the lines that follow those here, if
    there was more than is looked at."""

    engine: str
    line: str
    status: int
    output: str
    command_output: str
    errors: str
    temporary: str
    is_late: bool = False
    aggregations: Mapping[str, Mapping[tuple[Any, ...], Any]] | None = None
    behind: Mapping[str, int] = MappingProxyType({})


class CaseVerdict(NamedTuple):
    """`failures` are texts of several lines, none if the case has passed; `skipped` says why it was not run, `left_out`
    why an engine was not, "" if nothing was."""

    case: ScriptCase
    failures: tuple[str, ...] = ()
    skipped: str = ""
    left_out: str = ""
    runs: tuple[Ran, ...] = ()
    seconds: float = 0.0
