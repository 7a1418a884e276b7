"""What the command would print, for a file or as events; what it would say besides, as events."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence

from sonde.consume.events import Drop, Fault, Record, Table
from sonde.consume.options import Options
from sonde.frontends.d.report.text import TextReport
from sonde.library.event_sink import EventSink
from sonde.library.events import Event, Message, Text
from sonde.library.given import TEXT
from sonde.model.conversions import Conversion
from sonde.model.probe import Probe
from sonde.model.records import Action, RecordLayout
from sonde.model.samples import SampleSink
from sonde.model.spec import TracingSpec
from sonde.report.symbolizer import Symbolizer
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from sonde.captures.sink import Texts


class _Told(io.RawIOBase):
    """A file of messages, each a line."""

    def __init__(self, put: Callable[[list[Event]], None]) -> None:
        self._put = put

    def write(self, data: Any) -> int:
        text = bytes(data).decode(errors="surrogateescape")
        self._put([Message(text.partition(": ")[2].strip())])
        return len(data)


class TextSink:
    """A `session.Report` made of the command's, and of the sink of events."""

    def __init__(
        self, spec: TracingSpec, options: Options, output: int, names: Symbolizer, events: EventSink,
        put: Callable[[list[Event]], None],
    ) -> None:  # fmt: skip
        take = (lambda data: put([Text(data)])) if output == TEXT else None
        self._text = TextReport(spec, options, output, _Told(put), names, take=take)  # type: ignore[arg-type]
        self._events = events
        self.label = self._text.label

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

    def blank_line(self) -> None:
        """For terminals."""

    @property
    def is_data(self) -> bool:
        return False

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
