"""From the bytes of records to events: one function for each layout, compiled when its first record comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.consume.decode import RecordColumns, columns, compile_comprehension
from sonde.consume.generated import GeneratedExpression, code, constant, tuple_of
from sonde.formats.bpf_ring import RING_HEADER
from sonde.library.events import ProbeName, Record, statement_names
from sonde.library.statement_values import RecordedStatement, recorded_statements
from sonde.library.values import Values
from sonde.model.probe import Probe
from sonde.model.records import (
    CPU_AT,
    PROBE_AT,
    Action,
    CaptureAction,
    Field,
    PacketAction,
    PrintAction,
    PrintfAction,
    RecordLayout,
    TraceAction,
    TracememAction,
)
from sonde.typed import Any

ReadRecords = Callable[[memoryview], "list[Record]"]


class ProbeNames(dict[int, ProbeName]):
    """The names of probes by their identifiers."""

    def learn(self, probes: Sequence[Probe]) -> None:
        for each in probes:
            self[each.id] = ProbeName(each.provider, each.module, each.function, each.name)


def fields_of(action: Action) -> tuple[Field, ...]:
    """The fields of the values that one statement records."""
    match action:
        case TraceAction(field):
            return (field,)
        case TracememAction(field, dynamic):
            return (field,) if dynamic is None else (field, dynamic)
        case PrintfAction(_, fields):
            return fields
        case PrintAction(_, field, address):
            return (field,) if address is None else (field, address)
        case CaptureAction(time, length, data):
            return time, length, data
        case PacketAction(time, length, captured, _, data):
            return time, length, data, captured
        case _:
            return ()


def record_reader(
    layout: RecordLayout, strings: Sequence[bytes], stride: int, names: ProbeNames, values: Values
) -> ReadRecords:
    """A function from the bytes of a run of records (`Sink.run`) to what each statement has recorded, in order."""
    shown = [*recorded_statements(layout, values)]
    fields = [field for each in shown for field in fields_of(each.action)]
    if layout.time is not None:
        fields.append(layout.time)
    header = (RING_HEADER + PROBE_AT, code("probe")), (RING_HEADER + CPU_AT, code("cpu"))
    found = columns(fields, strings, RING_HEADER, stride, header)
    time = found.expressions[layout.time] if layout.time is not None else constant(0)
    extra: dict[str, Any] = {"new": tuple.__new__, "Record": Record, "probes": names, **values.functions}
    made = [_record(each, layout, time, found, values) for each in shown]
    if len(made) == 1:
        return compile_comprehension(made[0], found, stride, extra)
    read = compile_comprehension(tuple_of(made), found, stride, extra)
    return lambda view: [each for group in read(view) for each in group]


def _record(
    statement: RecordedStatement, layout: RecordLayout, time: GeneratedExpression, found: RecordColumns, values: Values
) -> GeneratedExpression:
    """The expression of what one statement has recorded. One without values has its words for a value."""
    action, names = statement.action, statement.names
    fields = [found.expressions[each] for each in fields_of(action)]
    if fields:
        taken = tuple_of(values.expressions(action, fields))
    else:
        taken, names = constant(((statement.text or "").removesuffix("\n"),)), ("",)
    called = statement_names(names, (layout.number, statement.place), statement.number, statement.text)
    return code("new(Record, (probes[probe], {}, cpu, {}, {}))", time, taken, constant(called))
