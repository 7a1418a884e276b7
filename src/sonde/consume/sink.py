"""The interface between the consumer and what shows or passes on the events."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.consume.events import Drop, Fault, Record, ShownMap, Table
from sonde.model.conversions import Conversion
from sonde.model.records import Action, RecordLayout
from sonde.typed import Protocol


class ShowingSink(Protocol):
    """What takes besides what the programs of a language that shows arrays have shown (`model/program.Show`)."""

    def show(self, shown: ShownMap) -> None:
        """A show action; at the end, behind `Sink.remaining`, those of the spec."""


class Sink(Protocol):
    """Takes the events of one session, in order. Speculative records arrive when they are committed."""

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

    def refusal(self, record: Record, reason: str) -> None:
        """An action could not be carried out."""

    def end(self, record: Record) -> None:
        """All actions of the record were handed over."""

    def fault(self, fault: Fault) -> None:
        """A clause was aborted."""

    def drop(self, drop: Drop) -> None:
        """Something was lost."""

    def remaining(self, tables: Sequence[Table]) -> None:
        """At the end: all aggregations that no printa has shown, but for those of the spec's show actions."""

    def flush(self) -> None:
        """Show what has been handed over: nothing follows until the next wake-up."""
