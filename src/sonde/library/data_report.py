"""Reports of data: records in a form of their own, and all else as events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.consume.events import Drop, Fault, Record, ShownMap, Table
from sonde.consume.sink import Report, Texts
from sonde.library.event_sink import EventSink
from sonde.model.conversions import Conversion
from sonde.model.probe import Probe
from sonde.model.records import Action
from sonde.model.samples import SampleSink
from sonde.typed import Protocol


class DataReport(Report, Protocol):
    """A report whose `events` take all that is no record."""

    events: EventSink

    @property
    def is_data(self) -> bool:
        return True

    def settle(self) -> None:
        """Some events have been made, and wait in `events`."""
        return

    def begin(self, record: Record) -> None:
        self.run(record.layout, record.data, len(record.data))

    def end(self, record: Record) -> None:
        return

    def action(self, record: Record, action: Action) -> None:
        self.events.action(record, action)
        self.settle()

    def table(self, table: Table, conversions: tuple[Conversion, ...] | None) -> None:
        self.events.table(table, conversions)
        self.settle()

    def show(self, shown: ShownMap) -> None:
        self.events.show(shown)
        self.settle()

    def remaining(self, tables: Sequence[Table]) -> None:
        self.events.remaining(tables)
        self.settle()

    def refusal(self, record: Record, reason: str) -> None:
        self.events.refusal(record, reason)
        self.settle()

    def fault(self, fault: Fault) -> None:
        self.events.fault(fault)
        self.settle()

    def drop(self, drop: Drop) -> None:
        self.events.drop(drop)
        self.settle()

    def learn(self, probes: Iterable[Probe]) -> None:
        self.events.learn(probes)

    def missing(self, text: str) -> None:
        self.events.missing(text)
        self.settle()

    def gone(self, device: str) -> None:
        self.events.gone(device)
        self.settle()

    def sample_lines(self) -> SampleSink:
        self.cannot_show("samples that sample() lets through", "text does: leave the format out")

    def texts(self, actions: Sequence[Action], stride: int) -> Texts:
        return self.events.texts(actions, stride)
