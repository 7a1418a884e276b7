"""What a run is to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sonde.library.aggregations import LiveAggregation
from sonde.library.events import Event, ProbeName
from sonde.library.given import GivenOutput
from sonde.library.outputs import NO_FILES, Files
from sonde.model.options import OptionTable
from sonde.model.spec import TracingSpec
from sonde.typed import Any, NamedTuple, Protocol, TypeAlias

Put: TypeAlias = Callable[[list[Event]], None]
"""Takes events, in their order."""


class Begun(NamedTuple):
    """A run that begins: its aggregations, what it traces, what to add to times of records for those of the wall
    clock, ns, and whether it gives tables."""

    aggregations: Mapping[str, LiveAggregation]
    spec: TracingSpec
    realtime_offset: int
    gives_tables: bool


Publish: TypeAlias = Callable[[Begun], None]
"""Takes what is known of a run that begins."""


class Runnable(Protocol):
    """What can be run: a compiled program, for an engine and a kernel (None: this one), and its options."""

    engine: str
    spec: TracingSpec
    destructive: bool
    kept: dict[str, Any]

    @property
    def target(self) -> str | None: ...

    @property
    def probes(self) -> tuple[ProbeName, ...]: ...

    def options(self) -> OptionTable: ...


class Request(NamedTuple):
    """`script` gives the script for an engine, the process that is $target, or 0, and what gets a process ready to be
    looked into; `options` are those that are known before it is compiled. `output` is for what the command
    would print, or for tables; None for records. `spec_path`: the file of a program that was compiled
    elsewhere, and may not be as its file says."""

    script: Callable[[str, int, Callable[[int], None]], Runnable]
    options: OptionTable
    command: str | None
    pids: tuple[int, ...]
    engine: str
    duration: float | None
    output: GivenOutput | None
    files: Files = NO_FILES
    spec_path: str = ""
