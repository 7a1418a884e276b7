"""What changes around programs while they run: what processes map, static probes that come, devices that go."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from sonde.engines.embedded.tracer import busy
from sonde.everywhere import following as everywhere_following
from sonde.everywhere import remarks as everywhere_remarks
from sonde.machine import device_watch
from sonde.model.named_maps import UNWIND_ROWS
from sonde.model.spec import TracingSpec, devices, fires_elsewhere, has_open_sites
from sonde.symbols import following as symbols_following
from sonde.symbols.unwinding import unwind_tables
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.base import ProcessEvents, Tracing
    from sonde.everywhere.following import Everywhere
    from sonde.machine.device_watch import DeviceWatch
    from sonde.model.probe import Probe
    from sonde.session.python_stacks import PythonStacks
    from sonde.symbols.following import Following, NameSource
    from sonde.symbols.unwinding.unwind_tables import UnwindTables

_PREPARATION = 0.5
"""Seconds of CPU time that tables of what runs already may take before tracing begins."""


class SessionSurroundings:
    """Looked after by one session. `traced` are the processes of -c and -p; `names` is told what processes have
    mapped, None where nobody asks for names. `python` takes up which functions of Python programs have met."""

    def __init__(
        self, spec: TracingSpec, tracing: Tracing, traced: Sequence[int], names: NameSource | None,
        python: PythonStacks,
    ) -> None:  # fmt: skip
        self._python = python
        self._spec, self._tracing, self._traced, self._names = spec, tracing, traced, names
        self._events: ProcessEvents | None = None
        self._following: Following | None = None
        self._tables: UnwindTables | None = None
        self._devices: DeviceWatch | None = None
        self._everywhere: Everywhere | None = None

    def prepare(self) -> None:
        """Before anything is attached. Where stacks are walked by tables, those of the traced processes are ready
        before anything fires."""
        self._prepare_tables()
        if self._names is not None:
            self._events = self._tracing.process_events()
        names = devices(self._spec)
        firings = self._tracing.firings()
        are_own = self._tracing.packets() is None and (firings is None or not firings.path)
        if names and are_own:
            self._devices = device_watch.DeviceWatch(names)

    def _prepare_tables(self) -> None:
        pages = {each.name: each.max_entries for each in self._spec.maps}
        if UNWIND_ROWS not in pages:
            return

        self._tables = unwind_tables.UnwindTables(
            pages, self._tracing.read_map, self._tracing.write_map, self._tracing.remove_from_map
        )
        self._tables.poll(self._traced)
        if self._tables.is_by_process:
            self._tracing.answer(self._tables.answer)
        elif not self._traced:
            self._tables.prepare(busy.busy_processes(), _PREPARATION)

    def find_static(self, strings: list[bytes], learn: Callable[[Sequence[Probe]], None]) -> None:
        """Find the static probes of all processes, and from here on those that come: `learn` is told of them when
        their names stand among the strings."""
        if has_open_sites(self._spec):
            self._everywhere = everywhere_following.Everywhere(self._spec, self._tracing, strings, learn)
            self._everywhere.begin()

    def follow(self) -> None:
        """From here on names are to be had of what processes map."""
        if self._names is not None:
            also = self._tables.follow(self._traced, self._names.mapping) if self._tables is not None else None
            self._following = symbols_following.Following(self._events, self._names, self._traced, also=also)

    @property
    def mapped(self) -> tuple[int, ...]:
        """Descriptors that are readable when a process has mapped something."""
        following = self._following.descriptors if self._following is not None else ()
        return (*following, *(self._everywhere.descriptors if self._everywhere is not None else ()))

    @property
    def noticed(self) -> tuple[int, ...]:
        """Descriptors that are readable when there is something to take up."""
        return (*self.mapped, *((self._devices.descriptor,) if self._devices is not None else ()))

    @property
    def patience(self) -> float:
        """Seconds until there is to be looked for objects by whose tables stacks are walked, or for names."""
        following = self._following.patience if self._following is not None else float("inf")
        return min(self._tables.patience if self._tables is not None else float("inf"), following)

    def poll(self) -> None:
        """Take up what has changed."""
        if self._everywhere is not None:
            self._everywhere.poll()
        if self._following is not None:
            self._following.poll()
        # Behind it: what programs have met in a process that has ended since is known by what that has mapped.
        self.poll_tables()

    def release(self, held: Callable[[], Collection[int]]) -> None:
        """What was there at the last poll has been shown: give up what was kept of processes that have ended, but for
        those of stacks that are held."""
        if self._following is not None:
            self._following.release(held)

    def poll_tables(self) -> None:
        """Only that by which stacks are walked."""
        if self._tables is not None:
            self._tables.poll(self._traced)
        self._python.poll()

    def are_gone(self, tell: Callable[[str], None]) -> bool:
        """Say which devices have gone; whether no probe is left that can fire."""
        if self._devices is None:
            return False
        for name in self._devices.gone():
            tell(name)
        return self._devices.is_empty and not fires_elsewhere(self._spec)

    def losses(self, beside: int) -> Iterator[tuple[str, int]]:
        """Kinds of losses and how many; `beside` are mappings that were lost among samples."""
        tables = self._tables
        mappings = beside + (self._following.losses() if self._following is not None else 0)
        found = (
            ("mappings", mappings),
            ("unwinding", tables.lost if tables else 0),
            ("cut", tables.cut if tables else 0),
            ("python", self._python.lost),
        )
        return ((kind, count) for kind, count in found if count)

    def remarks(self) -> Iterable[str]:
        """Of which static probes firings may be missing."""
        if self._everywhere is None:
            return ()

        return everywhere_remarks.remarks(self._everywhere.summary())

    def close(self) -> None:
        """Closing twice is harmless."""
        if self._devices is not None:
            self._devices.close()
            self._devices = None
