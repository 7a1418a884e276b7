"""The consumer's sink that makes events, in place of the command's text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sonde.consume import events as consumed
from sonde.consume.events import Contents, Drop, Fault, ShownMap, Table
from sonde.consume.options import Options
from sonde.consume.sink import Report, Texts
from sonde.frontends.bpftrace.report import maps
from sonde.frontends.d.report.messages import absence_text, drop_text, fault_text, refusal_text
from sonde.library.aggregations import Key, elements_of, key_of, rows_of, value_of
from sonde.library.events import Aggregation, Event, Loss, Message, ProbeError
from sonde.library.record_costs import cost_of
from sonde.library.record_reader import ProbeNames, ReadRecords, fields_of, record_reader
from sonde.library.statement_values import plain_name
from sonde.library.values import Values
from sonde.model.conversions import Conversion
from sonde.model.probe import Probe
from sonde.model.records import FAULTS, Action, AggregationSpec, ArraySpec, CommandAction, OtherAction, RecordLayout
from sonde.model.samples import SampleSink
from sonde.model.spec import TracingSpec
from sonde.model.units import MIB
from sonde.report import output
from sonde.report.commands import ShownActions
from sonde.report.fault_places import fault_place, refusal_place
from sonde.session import reports
from sonde.typed import Any

_AT_ONCE, _BYTES_AT_ONCE = 1 << 12, 8 * MIB
"""Records that are made before they are handed on, and the memory that they may take."""

_ROWS_AT_ONCE = 64
"""Rows of a table behind which it is handed on at once."""

_MESSAGES = ("errorf", "warnf")
"""Actions of bpftrace's language by which a program says something of itself."""

_FIELDS_KEPT = 1 << 16
"""Fields of all readers that are kept: for each length of its records a layout has another one."""

Act = Callable[[str, bytes], "str | None"]
"""Carries out system() and the like: the action's name and formatted argument; why it could not, if so."""


class EventSink(Report):
    """A report that gives events, in lists, to `put`, whoever waits for them. A record whose events may take
    more than `most` bytes of memory raises MemoryError."""

    def __init__(
        self, spec: TracingSpec, options: Options, values: Values, put: Callable[[list[Event]], None],
        most: int | None = None,
    ) -> None:  # fmt: skip
        self.title = "a run of events"
        self._spec = spec
        self._options = options
        self._values = values
        self._put = put
        self._probes = ProbeNames()
        self._probes.learn(spec.probes)
        self._readers: dict[tuple[int, int], tuple[ReadRecords, int]] = {}
        self._kept = 0
        self._most = most
        self._waiting: list[Event] = []
        self._refused: set[str] = set()

    def run(self, layout: RecordLayout, data: memoryview, stride: int) -> None:
        read, count = self._reader(layout, stride)
        most = stride * count
        for start in range(0, len(data), most):
            self._waiting += read(data[start : start + most])
            if len(self._waiting) >= count:
                self.flush()

    def _reader(self, layout: RecordLayout, stride: int) -> tuple[ReadRecords, int]:
        """What reads such records, and how many of them at once."""
        found = self._readers.get((layout.number, stride))
        if found is None:
            cost = cost_of(layout, stride, self._spec.types)
            if self._most is not None and cost > self._most:
                raise MemoryError
            self._make_room(1 + sum(len(fields_of(each)) for each in layout.actions))
            read = record_reader(layout, self._spec.strings, stride, self._probes, self._values)
            found = self._readers[layout.number, stride] = read, max(min(_BYTES_AT_ONCE // cost, _AT_ONCE), 1)
        return found

    def _make_room(self, fields: int) -> None:
        self._kept += fields
        if self._kept > _FIELDS_KEPT:
            self._readers.clear()
            self._kept = fields

    def begin(self, record: consumed.Record) -> None:
        """Its values are those of all its statements."""
        read, count = self._reader(record.layout, len(record.data))
        self._waiting += read(record.data)
        if len(self._waiting) >= count:
            self.flush()

    def end(self, record: consumed.Record) -> None:
        return

    def action(self, record: consumed.Record, action: Action) -> None:
        if isinstance(action, CommandAction) and action.name in _MESSAGES:
            (text,) = self.texts((action,), len(record.data))(record.data)
            self._waiting.append(Message(text.decode(errors="surrogateescape").strip()))
            return
        if isinstance(action, CommandAction | OtherAction) and action.name not in self._refused:
            self._refused.add(action.name)
            self.refusal(record, f"{action.name}() is for output as text")

    def table(self, table: Table, conversions: tuple[Conversion, ...] | None) -> None:
        names = tuple(each.name for each in table.aggregations)
        self._waiting.append(Aggregation(names, rows_of(table, self._values)))
        if len(table.rows) >= _ROWS_AT_ONCE:
            self.flush()

    def remaining(self, tables: Sequence[Table]) -> None:
        for each in tables:
            self.table(each, None)

    def show(self, shown: ShownMap) -> None:
        """A map of bpftrace's language: the last rows of it are those that are wanted."""
        rows: dict[Key, Any]
        found = maps.ordered_rows(shown)
        if isinstance(shown.of, Contents):
            spec: AggregationSpec | ArraySpec = shown.of.array
            rows = elements_of(shown.of._replace(rows=found), self._values, shown.divisor or 1)
        else:
            spec = shown.of.aggregations[0]
            factor = shown.divisor or 1
            rows = {key_of(spec, key, self._values): value_of(spec, words, factor) for key, words in found}
        name = plain_name(spec)
        self._waiting.append(Aggregation((name,), {key: (value,) for key, value in rows.items()}))
        if len(rows) >= _ROWS_AT_ONCE:
            self.flush()

    def refusal(self, record: consumed.Record, reason: str) -> None:
        self._waiting.append(Message(refusal_text(record, reason, refusal_place(record, self._spec))))

    def fault(self, fault: Fault) -> None:
        place = fault_place(fault, self._spec)
        text = ": ".join(filter(None, (fault_text(fault, place), absence_text(fault))))
        reason = FAULTS.get(fault.code, "unknown fault")
        self._waiting.append(ProbeError(self._probes[fault.probe.id], reason, text, *(place or ())))

    def drop(self, drop: Drop) -> None:
        text = drop_text(drop, self._options.droptags)
        self._waiting.append(Loss(drop.counter, drop.lost, drop.cpu, text.rstrip("\n")))

    def learn(self, probes: Iterable[Probe]) -> None:
        self._probes.learn([*probes])

    def missing(self, text: str) -> None:
        self._waiting.append(Message(text))

    def gone(self, device: str) -> None:
        self._waiting.append(Message(f"network device {device} has gone: no more packets of it are seen"))

    def sample_lines(self) -> SampleSink:
        """What lets samples through is for the command and its recordings."""
        self.cannot_show("samples that sample() lets through", "text does: give the run an `output`")

    @property
    def is_data(self) -> bool:
        return True

    def texts(self, actions: Sequence[Action], stride: int) -> Texts:
        """The texts of values, which go into a file of packets as comments."""
        return reports.text_report(self._spec, self._options, output.Showing(act=ShownActions())).texts(actions, stride)

    def flush(self) -> None:
        if self._waiting:
            self._put(self._waiting)
            self._waiting = []

    def close(self) -> None:
        self.flush()
