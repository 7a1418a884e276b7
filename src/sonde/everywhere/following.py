"""Files with static probes that programs wait for: those that processes have mapped when tracing begins, and those
that are mapped later. A uprobe is of a file, so one that is known fires in every process that maps it from then on,
at its first instruction; only a file that no process has had mapped before is attached to when sonde hears of it."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.engines.base import ProcessEvents, Tracing
from sonde.everywhere.naming import Learn, Naming
from sonde.everywhere.table import SiteTable
from sonde.machine.system import monotonic_ns
from sonde.model.spec import TracingSpec
from sonde.model.units import SECOND
from sonde.providers.static_files import StaticFile, StaticFiles
from sonde.symbols.process_events import Mapped
from sonde.typed import NamedTuple


class Late(NamedTuple):
    """A file that was mapped for the first time while tracing, and seconds from then to when its probes fired."""

    path: str
    delay: float


class FollowingSummary(NamedTuple):
    """What may be missing: files that came late, those of which some probes could not be attached to and why, files
    that were gone before they could be read, and what processes mapped that is not known. `can_follow`: the kernel
    tells what is mapped."""

    late: tuple[Late, ...]
    refused: tuple[tuple[str, str], ...]
    unreadable: int
    lost: int
    can_follow: bool


class Everywhere:
    """`names` are the strings of the session by their numbers, which grow; `learn` is told of probes."""

    def __init__(self, spec: TracingSpec, tracing: Tracing, names: list[bytes], learn: Learn) -> None:
        naming = Naming(spec, tracing, names, learn)
        self._tables = [SiteTable(spec, each, tracing, naming) for each in spec.programs if each.sites is not None]
        self._files = StaticFiles()
        self._late: list[Late] = []
        # Before processes are looked at, so that nothing is mapped between the two.
        self._is_asked = tracing.await_files(self._mapped)
        self._events: ProcessEvents | None = None if self._is_asked else tracing.process_events()

    @property
    def descriptors(self) -> Sequence[int]:
        """Readable when a process has mapped something."""
        return self._events.descriptors if self._events is not None else ()

    def begin(self) -> None:
        """Attach to what processes have mapped by now, and to what is installed and they may map: that fires from their
        first instruction on."""
        wanted = {table.pid for table in self._tables}
        found = [
            (file, pid)
            for pid in (self._files.processes() if 0 in wanted else sorted(wanted))
            for file in self._files.of(pid)
        ]
        everything: list[tuple[StaticFile, int | None]] = list(found)
        if not self._is_asked:
            everything += [(file, None) for file in self._files.installed()]
        for file in dict.fromkeys(file for file, _ in everything):
            for table in self._tables:
                table.prepare(file)
        for file, process in everything:
            self._attach(file, process)
        self._files.unreadable = 0

    def _mapped(self, pid: int) -> None:
        """The process waits."""
        if any(table.pid in (0, pid) for table in self._tables):
            for file in self._files.of(pid):
                self._attach(file, pid)

    def poll(self) -> None:
        """Attach to what processes have mapped since the last time."""
        for event in self._events.read() if self._events is not None else ():
            if isinstance(event, Mapped) and any(table.pid in (0, event.pid) for table in self._tables):
                file = self._files.file(event.pid, event.mapping)
                if file is not None and self._attach(file, event.pid):
                    self._late.append(Late(event.mapping.path, (monotonic_ns() - event.time) / SECOND))

    def summary(self) -> FollowingSummary:
        refused = *self._files.given_up.items(), *(each for table in self._tables for each in table.refused)
        lost = self._events.lost if self._events is not None else 0
        return FollowingSummary(
            tuple(self._late), refused, self._files.unreadable, lost, self._is_asked or self._events is not None
        )

    def _attach(self, file: StaticFile, pid: int | None) -> bool:
        """Attach to a file that a process has mapped, or, if that is None, may map; whether it has such sites."""
        tables = [table for table in self._tables if pid is None or table.pid in (0, pid)]
        attached = [table.attach(file) for table in tables]
        return any(attached)
