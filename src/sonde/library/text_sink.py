"""What the command would print, for a file or as events; what it would say besides, as events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sonde.consume.events import Drop, Fault, Record, ShownMap, Table
from sonde.consume.options import Options
from sonde.consume.sink import Report, Texts
from sonde.library.event_sink import EventSink
from sonde.library.events import Event, Message, Text
from sonde.library.given import TEXT
from sonde.model.conversions import Conversion
from sonde.model.probe import Probe
from sonde.model.records import Action, RecordLayout
from sonde.model.samples import SampleSink
from sonde.model.spec import TracingSpec
from sonde.report.output import Showing
from sonde.report.symbolizer import Symbolizer
from sonde.session.reports import text_report
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.consume.aggregations import Label


class TextSink(Report):
    """A report made of the command's, and of the sink of events."""

    def __init__(
        self, spec: TracingSpec, options: Options, output: int, names: Symbolizer, events: EventSink,
        put: Callable[[list[Event]], None],
    ) -> None:  # fmt: skip
        take = (lambda data: put([Text(data)])) if output == TEXT else None
        showing = Showing(output, names, take=take, tell=lambda text: put([Message(text)]))
        self._text = text_report(spec, options, showing)
        self._events = events
        self.title = self._text.title

    @property
    def label(self) -> Label | None:
        return self._text.label

    def run(self, layout: RecordLayout, data: memoryview, stride: int) -> None:
        self._text.run(layout, data, stride)

    def begin(self, record: Record) -> None:
        self._text.begin(record)

    def action(self, record: Record, action: Action) -> None:
        self._text.action(record, action)

    def end(self, record: Record) -> None:
        self._text.end(record)

    def table(self, table: Table, conversions: tuple[Conversion, ...] | None) -> None:
        self._text.table(table, conversions)

    def show(self, shown: ShownMap) -> None:
        self._text.show(shown)

    def remaining(self, tables: Sequence[Table]) -> None:
        self._text.remaining(tables)

    def refusal(self, record: Record, reason: str) -> None:
        self._text.flush()
        self._events.refusal(record, reason)

    def fault(self, fault: Fault) -> None:
        self._text.flush()
        self._events.fault(fault)

    def drop(self, drop: Drop) -> None:
        self._text.flush()
        self._events.drop(drop)

    def missing(self, text: str) -> None:
        self._events.missing(text)

    def gone(self, device: str) -> None:
        self._events.gone(device)

    def learn(self, probes: Iterable[Probe]) -> None:
        found = [*probes]
        self._text.learn(found)
        self._events.learn(found)

    def sample_lines(self) -> SampleSink:
        return self._text.sample_lines()

    @property
    def is_switched(self) -> bool:
        return self._text.is_switched

    def texts(self, actions: Sequence[Action], stride: int) -> Texts:
        return self._text.texts(actions, stride)

    def flush(self) -> None:
        self._text.flush()
        self._events.flush()

    def close(self) -> None:
        self._text.close()
        self._events.close()
