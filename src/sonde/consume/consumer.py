"""The consumer: drains the rings, keeps the aggregations and reports to a sink."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Sequence

from sonde.consume import aggregations, arrays, checked, held, waiting
from sonde.consume.counters import Counters
from sonde.consume.decode import record_reader
from sonde.consume.events import Drop, Fault, Record, ShownMap
from sonde.consume.options import Options
from sonde.consume.runs import spans
from sonde.consume.speculations import Speculations
from sonde.formats.bpf_ring import RING_HEADER
from sonde.model.named_maps import SPECULATIONS
from sonde.model.records import (
    FAULT_CLAUSE,
    HEADER_SIZE,
    Action,
    CaptureAction,
    ClearAction,
    CommandAction,
    EmptyAction,
    ExitAction,
    Field,
    NormalizeAction,
    OtherAction,
    PacketAction,
    PrintaAction,
    PrintAction,
    PrintfAction,
    RecordLayout,
    SetOptionAction,
    ShowAction,
    TraceAction,
    TracememAction,
    TruncAction,
)
from sonde.model.spec import TracingSpec
from sonde.model.units import SECOND
from sonde.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sonde.consume.aggregations import AggregationAction, Label, Moment
    from sonde.consume.events import Contents, Table
    from sonde.consume.sink import Sink
    from sonde.consume.store import Canonical, Key
    from sonde.consume.waiting import EndOfTracing
    from sonde.engines.base import DataSource
    from sonde.model.aggregation_words import Words
    from sonde.model.probe import Probe

PASSIVE = (TraceAction, TracememAction, PrintfAction, PrintAction, CaptureAction)
"""Actions that only show data of the record."""

_FAULT = tuple(
    Field(HEADER_SIZE + offset, size, "int", signed)
    for offset, size, signed in ((0, 4, False), (4, 4, False), (8, 8, True), (16, 8, False), (24, 8, False))
)
_TURN = 0.1
"""Seconds in which records are shown before others have their turn: a table of many stacks takes longer than that, and
more of them may be waiting in the rings."""

STATUS_RATE = 1.0
"""Seconds between two looks at the drop counters, DTrace's default statusrate."""

SetOption = Callable[[str, str], "str | None"]
"""Carries out setopt(name, value); returns why it could not, if so."""


KeptAs = Callable[[int, "Key"], "Key | None"]


def is_passive(layout: RecordLayout) -> bool:
    """Whether the records of this clause can be shown without any other effect."""
    return all(isinstance(action, PASSIVE) for action in layout.actions)


def _closes(layout: RecordLayout) -> bool:
    """Whether this is the record of a commit() or discard(), which shows no line of its own."""
    return any(isinstance(action, OtherAction) and action.name in ("commit", "discard") for action in layout.actions)


def _runs_command(action: Action) -> bool:
    return isinstance(action, CommandAction) and action.name == "system"


def _waiting(spec: TracingSpec, ending: EndOfTracing | None) -> waiting.WaitingActions | None:
    actions = (action for layout in spec.records for action in layout.actions)
    if ending is None or not any(
        _runs_command(each) or isinstance(each, PrintaAction | ShowAction) for each in actions
    ):
        return None

    return waiting.WaitingActions(ending)


def _aggregations(
    spec: TracingSpec, tracing: DataSource, options: Options, label: Label | None,
    kept_as: KeptAs | None, canonical: Canonical | None,
) -> aggregations.Aggregations | None:  # fmt: skip
    if not spec.aggregations:
        return None
    # A program without aggregations is not to wait for this import.

    return aggregations.Aggregations(spec, tracing, options, label, kept_as, canonical)


class Consumer:
    """One session's consumer. Call `poll` whenever a ring may have data, `finish` once when all programs are done.

    `records` is how many have been shown, `faults` how many clauses were aborted.

    `exit_status` is the argument of exit() once it was called (of the last call: END has the last word), else None.
    `set_option` carries out setopt(). `label` names symbols, so that keys shown alike are one. `status_rate` is in
    seconds. `kept_as`: what clear and trunc take away is to be had from `everything`, by the keys that this gives for
    those of an aggregation. `canonical`: stacks of processes that are shown alike are one. `ending`: commands that wait
    when it has come are dropped, but for the first; None where all are to be run. `between` is called now and then
    between two records where there is much to be shown: what else happens does not wait until all is.
    """

    def __init__(
        self,
        spec: TracingSpec,
        tracing: DataSource,
        sink: Sink,
        options: Options,
        set_option: SetOption,
        label: Label | None = None,
        status_rate: float = STATUS_RATE,
        kept_as: KeptAs | None = None,
        canonical: Canonical | None = None,
        ending: EndOfTracing | None = None,
        between: Callable[[], None] | None = None,
    ) -> None:
        self.exit_status: int | None = None
        self.records = 0
        self.faults = 0
        self._spec = spec
        self._probes = {probe.id: probe for probe in spec.probes}
        self._checks: checked.RecordChecks | None = None
        if spec.is_filed:
            self._checks, tracing = checked.RecordChecks(spec, self._probes), checked.CheckedSource(spec, tracing)
        self._tracing = tracing
        self._sink = sink
        self._set_option = set_option
        self._waiting = _waiting(spec, ending)
        self._between = between
        self._turn = 0.0
        self._layouts = {layout.number: layout for layout in spec.records}
        self._passive = {layout.number for layout in spec.records if is_passive(layout)}
        self._aggregations = _aggregations(spec, tracing, options, label, kept_as, canonical)
        self._counters = Counters(tracing)
        speculates = any(each.name == SPECULATIONS for each in spec.maps) and any(map(_closes, spec.records))
        self._speculations = Speculations(tracing, speculates)
        # With several rings only a look at all of them shows what was committed in its order.
        self._settle_at_once = len(tracing.rings) == 1
        self._readers: dict[tuple[tuple[Field, ...], int], Callable[[memoryview], list[tuple[Any, ...]]]] = {}
        self._status_rate = status_rate
        self._drops_due = time.monotonic() + status_rate
        self._options = options
        # A recording says itself when aggregations were looked at.
        self._refresh_due = 0.0 if status_rate < float("inf") else status_rate

    def learn(self, probes: Iterable[Probe]) -> None:
        """Probes that were found while tracing."""
        self._probes |= {probe.id: probe for probe in probes}

    def poll(self) -> None:
        """Take everything that stands in the rings and show it."""
        self._keep_aggregations_fresh()
        self._turn = time.monotonic() + _TURN
        for ring in self._tracing.rings:
            data = ring.read()
            size = len(data)
            if size:
                self._drain(data)
                ring.advance(size)
        self._speculations.settle_late(self._show_committed)
        if time.monotonic() >= self._drops_due:
            self.report_drops()
        self._sink.flush()

    def _keep_aggregations_fresh(self) -> None:
        """Look at the aggregations as often as the option aggrate says; 0 is each time one is printed."""
        now = time.monotonic()
        if self._options.aggrate and now >= self._refresh_due:
            self._refresh_due = now + self._options.aggrate / SECOND
            self.refresh()

    def all_are_taken(self) -> None:
        """What the rings had when programs were over has been shown: what is run from here on END asks for."""
        if self._waiting is not None:
            self._waiting.all_are_taken()

    def refresh(self) -> bool:
        """Look at the aggregations that were printed before: printa shows them so until the next time.

        False if there are none.
        """
        return self._aggregations is not None and self._aggregations.refresh()

    def look(self, index: int, contents: Sequence[tuple[bytes, bytes]]) -> tuple[dict[Key, Words], int]:
        """What an aggregation has come to at present where its map has `contents`, less what was cleared, and what it
        is normalized by."""
        return self._aggregations.look(index, contents) if self._aggregations else ({}, 1)

    def everything(self, index: int, contents: Iterable[tuple[bytes, bytes]]) -> dict[Key, Words]:
        """All that an aggregation has counted since the beginning, cleared or not, where its map has `contents`.

        Only with `kept_as`.
        """
        return self._aggregations.everything(index, contents) if self._aggregations else {}

    def processes(self, read: Callable[[str], list[tuple[bytes, bytes]]]) -> set[int]:
        """The processes of which stacks or addresses may be shown yet (`consume/held.py`); `read` gives what is in a
        map."""
        spec = self._spec
        maps = [(each.map, each.keys, ()) for each in spec.aggregations]
        found = held.in_maps([*maps, *((each.map, each.keys, (each.value,)) for each in spec.arrays)], read)
        for number, each in enumerate(spec.aggregations if self._aggregations else ()):
            assert self._aggregations is not None
            found |= held.in_keys(each.keys, self._aggregations.held(number))
        kept: list[bytearray | memoryview] = [*self._speculations.kept()]
        for records in kept + [ring.unread() for ring in self._tracing.rings]:
            found |= held.in_records(self._layouts, memoryview(records))
        return found

    def finish(self, shown_elsewhere: Container[int] = ()) -> None:
        """Take what is left, report what was lost and hand over the aggregations not printed yet, but for those of
        these numbers; and what the program has shown at the end."""
        if self._aggregations is not None:
            self._aggregations.forget()
        self.poll()
        self._speculations.settle_all(self._show_committed)
        self.report_drops()
        left = self._aggregations.remaining() if self._aggregations else []
        shown_here = {action.number for action in self._spec.shown if not action.is_array}
        elsewhere = [
            spec
            for number, spec in enumerate(self._spec.aggregations)
            if number in shown_elsewhere or number in shown_here
        ]
        self._sink.remaining([table for table in left if table.aggregations[0] not in elsewhere])
        for action in self._spec.shown:
            self._show(action, None, None)
        self._sink.flush()

    @property
    def status_due(self) -> float:
        """When to look for losses next, by time.monotonic()."""
        return self._drops_due

    def report_drops(self) -> None:
        """Tell the sink what was lost since the last time; `poll` does it every `status_rate` seconds."""
        self._drops_due = time.monotonic() + self._status_rate
        for drop in self._counters.drops():
            self._sink.drop(drop)
        for kind, count in self._waiting.take_dropped() if self._waiting is not None else ():
            self._sink.drop(Drop(kind, None, count))
        # Where the ring was full, commit() and discard() could not tell.
        self._speculations.find_untold()

    def _drain(self, data: memoryview, committed: bool = False) -> None:
        """Dispatch ring bytes; `committed` records are shown although they are speculative."""
        passive, layouts, show = self._passive, self._layouts, self._sink.run
        for number, speculation, start, stop, stride in spans(data):
            view = data[start:stop]
            if self._checks is not None:
                self._checks.run(number, view, stride)
            if speculation and not committed:
                self._speculations.keep(speculation, view, len(view) // stride)
            elif number in passive:
                show(layouts[number], view, stride)
                self.records += len(view) // stride
                self._take_turns(committed)
            else:
                for each in range(0, len(view), stride):
                    self._act(number, view[each : each + stride])
                    self.records += 1
                    self._take_turns(committed)

    def _take_turns(self, committed: bool) -> None:
        """Let others do their work where records have been shown for a while; not amid one that commits others."""
        if self._between is not None and not committed and time.monotonic() >= self._turn:
            self._between()
            self._turn = time.monotonic() + _TURN

    def _values(self, fields: tuple[Field, ...], data: memoryview) -> tuple[Any, ...]:
        """The values of fields in one record."""
        identity = fields, len(data)
        read = self._readers.get(identity)
        if read is None:
            read = self._readers[identity] = record_reader(fields, self._spec.strings, len(data))
        return read(data)[0]

    def _value(self, field: Field, data: memoryview) -> Any:
        return self._values((field,), data)[0]

    def _fault(self, data: memoryview) -> None:
        clause, probe, pc, code, value = self._values(_FAULT, data)
        self.faults += 1
        self._sink.fault(Fault(clause, self._probes[probe], pc, code, value))

    def _act(self, number: int, data: memoryview) -> None:
        """Carry out the actions of one record in order."""
        if number == FAULT_CLAUSE:
            self._fault(data)
            return
        layout = self._layouts[number]
        words = data[RING_HEADER : RING_HEADER + HEADER_SIZE].cast("I")
        record = Record(layout, self._probes[words[1]], words[2], data)
        shows = not _closes(layout)
        if shows:
            self._sink.begin(record)
        moment = self._aggregations.moment(layout.actions) if self._aggregations else None
        for action in layout.actions:
            if self._waiting is not None and _runs_command(action) and not self._waiting.may_run():
                continue
            if isinstance(action, (*PASSIVE, CommandAction, PacketAction)):
                self._sink.action(record, action)
            else:
                self._carry_out(record, action, moment)
        if shows:
            self._sink.end(record)

    def _carry_out(self, record: Record, action: Action, moment: Moment | None) -> None:
        match action:
            case ExitAction(field):
                self.exit_status = self._value(field, record.data)
            case PrintaAction() | ClearAction() | TruncAction() | NormalizeAction():
                self._aggregate(record, action, moment)
            case ShowAction() if not self._is_due(action):
                pass
            case ShowAction():
                wanted = (action.top, action.divisor)
                self._show(action, *(None if each is None else self._value(each, record.data) for each in wanted))
            case EmptyAction():
                self._is_due(action)

                arrays.empty(self._spec.arrays[action.array], action.keeps_keys, self._tracing)
            case SetOptionAction():
                self._setopt(record, action)
            case OtherAction():
                self._other(record, action)

    def _is_due(self, action: Action) -> bool:
        """Whether an action that shows a table, or changes it, is to be carried out yet."""
        if self._waiting is None:
            return True
        if isinstance(action, PrintaAction | ShowAction):
            return self._waiting.may_show(action)
        self._waiting.tables_change()
        return True

    def _aggregate(self, record: Record, action: AggregationAction, moment: Moment | None) -> None:
        if self._aggregations is None or moment is None or not self._is_due(action):
            return
        table = self._aggregations.carry_out(action, lambda field: self._value(field, record.data), moment)
        if table is not None and isinstance(action, PrintaAction):
            self._sink.table(table, action.conversions)

    def _show(self, action: ShowAction, top: int | None, divisor: int | None) -> None:
        if action.is_array:
            of: Contents | Table = arrays.contents(self._spec, self._spec.arrays[action.number], self._tracing)
        else:
            assert self._aggregations is not None
            of = self._aggregations.shown(action.number)
        self._sink.show(ShownMap(of, top, divisor))

    def _setopt(self, record: Record, action: SetOptionAction) -> None:
        name = self._value(action.name, record.data).decode(errors="replace")
        value = self._value(action.value, record.data).decode(errors="replace") if action.value else "1"
        reason = self._set_option(name, value)
        if reason is not None:
            self._sink.refusal(record, f'couldn\'t set option "{name}" to "{value}": {reason}\n')

    def _other(self, record: Record, action: OtherAction) -> None:
        if action.name in ("commit", "discard"):
            speculation, written = self._values(action.fields, record.data)
            self._speculations.close(speculation, action.name == "commit", written)
            if self._settle_at_once:
                self._speculations.settle(self._show_committed)
        elif action.name == "ftruncate":
            self._sink.action(record, action)

    def _show_committed(self, data: memoryview) -> None:
        self._drain(data, committed=True)
