"""What happens to the address spaces of processes, told by an engine so that addresses can be named later.

Times are those of CLOCK_MONOTONIC in ns. Processes have the numbers of sonde's own pid namespace.
"""

from __future__ import annotations

from sonde.symbols.mappings import Mapping
from sonde.typed import NamedTuple


class Mapped(NamedTuple):
    """A process has mapped something that it may execute. `mark` identifies what it executes from then on, as in
    `images.mark_of`, if the mapping took the place of other code; 0 if not, or if that is not known. `generation`: what
    programs record of the process from then on (`named_maps.GENERATIONS`), 0 where they record none."""

    time: int
    pid: int
    mapping: Mapping
    mark: int = 0
    generation: int = 0


class Executed(NamedTuple):
    """A process has executed another program: what it had mapped is gone. `generation` is what programs have
    recorded before that, None where they record none."""

    time: int
    pid: int
    generation: int | None = None


class Forked(NamedTuple):
    """`parent` has made the process `pid`, which has the same mappings; `generation` is that of `pid`, None if that
    goes on with its parent's."""

    time: int
    pid: int
    parent: int
    generation: int | None = None


class Exited(NamedTuple):
    """The first thread of a process has ended, and most likely the process."""

    time: int
    pid: int


class MappingsSnapshot(NamedTuple):
    """All that a process has mapped; `mark` identifies what it executes, as in `images.mark_of`, 0 if not known."""

    time: int
    pid: int
    mark: int
    mappings: tuple[Mapping, ...]


ProcessEvent = Mapped | Executed | Forked | Exited | MappingsSnapshot
