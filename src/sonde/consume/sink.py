"""The interface between the consumer and what shows or passes on the events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sonde.consume.events import Drop, Fault, Record, ShownMap, Table
from sonde.model.conversions import Conversion
from sonde.model.errors import CannotShowError
from sonde.model.records import Action, RecordLayout
from sonde.typed import TYPE_CHECKING, NoReturn, Protocol, TypeAlias

if TYPE_CHECKING:
    from sonde.consume.aggregations import Label
    from sonde.model.probe import Probe
    from sonde.model.samples import SampleSink

Texts: TypeAlias = Callable[[memoryview], Sequence[bytes]]
"""The text of some values, for each of several records."""


class Sink(Protocol):
    """Takes the events of one session, in order. Speculative records arrive when they are committed.

    A class inherits it. What has a body here is optional: a sink without a form for such an event says so.
    """

    title: str
    """The sink's name in messages."""

    def run(self, layout: RecordLayout, data: memoryview, stride: int) -> None:
        """Records of one clause with none but passive actions (trace, tracemem, printf, print, capture): most of all.

        They stand one behind the other as in the ring, each behind its 8-byte header, `stride` bytes from one to the
        next. `data` is only valid during the call.
        """

    def begin(self, record: Record) -> None:
        """A record with other actions begins: those that concern the sink follow, then `end`."""

    def action(self, record: Record, action: Action) -> None:
        """A trace, tracemem, printf, print, system, freopen or ftruncate action."""

    def table(self, table: Table, conversions: tuple[Conversion, ...] | None) -> None:
        """A printa action; `conversions` is None for the default layout."""
        self.cannot_show("tables of printa()")

    def show(self, shown: ShownMap) -> None:
        """A show action; at the end, after `remaining`, those of the spec."""
        self.cannot_show("maps of bpftrace's language")

    def refusal(self, record: Record, reason: str) -> None:
        """An action could not be carried out."""

    def end(self, record: Record) -> None:
        """All actions of the record were handed over."""

    def fault(self, fault: Fault) -> None:
        """A clause was aborted."""

    def drop(self, drop: Drop) -> None:
        """Something was lost."""

    def remaining(self, tables: Sequence[Table]) -> None:
        """At the end: all aggregations that no printa has shown, except those of the spec's show actions."""

    def flush(self) -> None:
        """Show what has been handed over: nothing follows until the next wake-up."""

    def cannot_show(self, what: str, remedy: str = "") -> NoReturn:
        """Raise CannotShowError."""
        raise CannotShowError(self.title, what, remedy)


class Report(Sink, Protocol):
    """A sink that also shows what a session has to say besides the events of programs."""

    @property
    def label(self) -> Label | None:
        """Names of addresses by which keys of aggregations are joined; None: keys are joined by value."""
        return None

    def learn(self, probes: Iterable[Probe]) -> None:
        """Probes that were found while tracing."""

    def missing(self, text: str) -> None:
        """What may be missing in what was shown, for people."""

    def gone(self, device: str) -> None:
        """A network device is not there any more."""

    def share_terminal(self, make_room: Callable[[bool], None]) -> None:
        """Somebody else writes to the terminal, too: `make_room` is to be called before this report does, and is told
        whether what it writes ends with a line."""
        return

    def blank_line(self) -> None:
        """An interrupt: on a terminal an empty line sets the rest off from ^C."""
        return

    def close(self) -> None:
        """Write what is waiting, and close what was opened."""

    def sample_lines(self) -> SampleSink:
        """Shows samples of perf events among the rest."""
        self.cannot_show("samples that sample() lets through")

    @property
    def is_switched(self) -> bool:
        """Whether the output is the file of a freopen()."""
        return False

    @property
    def is_data(self) -> bool:
        """Whether programs read it: they get what pictures show, too, which people are not to read twice."""
        return False

    def texts(self, actions: Sequence[Action], stride: int) -> Texts:
        """The function that makes the text of these actions of records of `stride` bytes each, for people."""
