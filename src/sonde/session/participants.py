"""Those who take part in a session: who asks for its end, who looks at it, who shows what it has to say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.typed import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sonde.consume.events import Drop
    from sonde.consume.options import Options
    from sonde.consume.sink import Report
    from sonde.consume.store import Key
    from sonde.model.aggregation_words import Words
    from sonde.model.spec import TracingSpec


class Sight(Protocol):
    """What is to be seen of a session while it goes on, by numbers of aggregations and arrays."""

    def everything(self, aggregation: int) -> dict[Key, Words]:
        """All that it has counted, cleared or not."""

    def look(self, aggregation: int) -> tuple[dict[Key, Words], int]:
        """What it has come to at present, and what it is normalized by."""

    def elements(self, array: int) -> Sequence[tuple[Key, bytes]]:
        """The elements of an array that is kept, at present."""

    def lost(self) -> Iterable[Drop]:
        """What was lost since this was called last."""

    @property
    def faults(self) -> int:
        """How many clauses were aborted so far."""


class Watcher(Protocol):
    """Looks at aggregations while they are counted in: pictures are made of that, and metrics. Those that are `drawn`
    are printed where the program says so, and not besides at the end."""

    drawn: frozenset[int]

    def begin(self, sight: Sight) -> None:
        """Tracing is about to begin."""

    def started(self) -> None:
        """Probes fire."""

    def poll(self) -> float:
        """Look, if it is time to; when to be called next, by time.monotonic()."""

    def kept_as(self, aggregation: int, key: Key) -> Key | None:
        """The key by which `Sight.everything` is to have what a clear or trunc takes of this one: no more are kept than
        the watcher tells apart. None if it asks for none."""

    def finish(self) -> None:
        """Tracing is over; names can still be had."""


class Asked(Protocol):
    """Whoever may ask for the end; `descriptor` is readable then, or when there is something to do at the next turn."""

    @property
    def asked(self) -> bool: ...

    @property
    def descriptor(self) -> int: ...

    @property
    def until(self) -> float:
        """When to look at `asked` again at the latest, by time.monotonic()."""

    def turn(self) -> None:
        """Called now and then while something is traced."""

    def close(self) -> None:
        """Tracing is over; what has been counted can still be read."""


class Trials(Protocol):
    """Who has internal probes fired one after the other, by the names in `probes`, in the place of all else. `returned`
    is what the one that runs has come to, as far as its records say."""

    probes: tuple[str, ...]
    is_measured: bool
    returned: int

    def begin(self, probe: str) -> None: ...
    def finish(self, probe: str, nanoseconds: int, runs: int, status: int) -> None: ...


class MakeReport(Protocol):
    """Makes the report of a session, for its options as they are shown."""

    def __call__(self, spec: TracingSpec, shown: Options, /) -> Report: ...
