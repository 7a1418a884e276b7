"""What happens to the address spaces of processes, told by an engine so that addresses can be named later.

Times are those of CLOCK_MONOTONIC in ns. Processes have the numbers of sonde's own pid namespace.
"""

from __future__ import annotations

from sonde.symbols.mappings import Mapping
from sonde.typed import NamedTuple


class Mapped(NamedTuple):
    """A process has mapped something that it may execute. `mark` identifies what it executes from then on, as in
    `images.mark_of`, if the mapping took the place of other code; 0 if not, or if that is not known."""

    time: int
    pid: int
    mapping: Mapping
    mark: int = 0


class Executed(NamedTuple):
    """A process has executed another program: what it had mapped is gone."""

    time: int
    pid: int


class Forked(NamedTuple):
    """`parent` has made the process `pid`, which has the same mappings."""

    time: int
    pid: int
    parent: int


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
