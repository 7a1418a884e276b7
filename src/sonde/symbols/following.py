"""Following what processes have mapped, while a session lasts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from sonde.symbols.mappings import Mapping
from sonde.symbols.process_events import ProcessEvent
from sonde.typed import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sonde.model.python_frames import PythonFrame

_FIRST_SLICE, _SLICE = 0.05, 0.005
"""Seconds spent on processes that ran before: when tracing begins, and each time records are looked for."""

_COMPILED = 0.02
"""Seconds between two looks at maps of code that processes compile."""

_AGAIN = 0.2
"""Seconds after which the traced processes are looked at again where nothing tells what they map."""


class MappingSource(Protocol):
    """An engine that tells what processes map. `lost` counts what it could not tell."""

    lost: int

    @property
    def descriptors(self) -> Sequence[int]:
        """Readable when there is something to be read."""

    def read(self) -> Sequence[ProcessEvent]:
        """What has happened since the last time, in order."""

    def advance(self, pid: int) -> int | None:
        """Begin another generation of a process and give its number; None where programs record none."""


class NameSource(Protocol):
    """Where addresses get their names."""

    def follow(self, pull: Callable[[], Iterable[ProcessEvent]]) -> None:
        """Ask `pull` what has happened when an address is not known."""

    def take(self, event: ProcessEvent) -> None:
        """What has happened next."""

    def mapping(self, pid: int, address: int) -> Mapping | None:
        """What a process has, or had, mapped at an address."""

    def canonical(self, stack: bytes) -> bytes:
        """The one of all stacks of a process that have the same names."""

    def show_python(self, find: Callable[[int], PythonFrame]) -> None:
        """Words of stacks that stand for functions of Python are named by `find`."""

    def remember(self, pid: int) -> bool:
        """Read what a process has mapped, False if it is gone."""

    def follow_compiled(self, advance: Callable[[int], int | None]) -> bool:
        """Look at what code that processes have compiled is called by now; whether there is any. Where it has got
        another name `advance` begins another generation of the process and gives its number."""

    def release(self, held: Callable[[], Collection[int]]) -> None:
        """Give up what was kept for stacks of processes, but for those that `held` gives."""

    @property
    def forgotten(self) -> int:
        """Past images of processes that were given up for want of room."""


class Following:
    """`source` is None where nothing tells what processes map: then only those that are `traced` are looked at, every
    now and then. `also` is told what happens, too."""

    def __init__(
        self, source: MappingSource | None, names: NameSource, traced: Sequence[int], proc: str = "/proc",
        also: Callable[[ProcessEvent], None] | None = None,
    ) -> None:  # fmt: skip
        self._source = source
        self._names = names
        self._traced = tuple(traced)
        self._also = also
        self._due = 0.0
        self.patience = float("inf")
        """Seconds until it is time to poll, whatever happens."""
        self._running = _pids(proc) if source else iter(())
        if source is not None:
            names.follow(self._read)
        self._look_at_traced()
        self._scan(_FIRST_SLICE)

    def poll(self) -> None:
        """Take up what has happened since the last time."""
        if self._source is not None:
            for event in self._read():
                self._names.take(event)
            self.patience = _COMPILED if self._names.follow_compiled(self._source.advance) else float("inf")
            self._scan(_SLICE)
        elif time.monotonic() >= self._due:
            self._due = time.monotonic() + _AGAIN
            self._look_at_traced()

    def release(self, held: Callable[[], Collection[int]]) -> None:
        """Give up what was kept of processes that have ended by the last poll, but for those whose stacks may still be
        shown: `held` gives these (`Images.release`). All records that were written by then have been shown."""
        self._names.release(held)

    @property
    def descriptors(self) -> Sequence[int]:
        """Readable when it is time to poll."""
        return self._source.descriptors if self._source else ()

    def losses(self) -> int:
        """How many changes of mappings, or processes, are not known."""
        return (self._source.lost if self._source else 0) + self._names.forgotten

    def _read(self) -> Sequence[ProcessEvent]:
        events = self._source.read() if self._source is not None else ()
        if self._also is not None:
            for event in events:
                self._also(event)
        return events

    def _look_at_traced(self) -> None:
        for pid in self._traced:
            self._names.remember(pid)

    def _scan(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for pid in self._running:
            self._names.remember(pid)
            if time.monotonic() >= end:
                return


def _pids(proc: str) -> Iterator[int]:
    """The processes that run now; the list is made at the first one."""
    try:
        names = os.listdir(proc)
    except OSError:
        return
    yield from (int(name) for name in names if name.isdigit())
