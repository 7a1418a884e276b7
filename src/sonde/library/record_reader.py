"""From the bytes of records to events: one function for each layout, compiled when its first record comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.consume.decode import columns, compile_comprehension
from sonde.consume.events import RING_HEADER
from sonde.library.events import ProbeName, Record
from sonde.library.values import Values
from sonde.model.probe import Probe
from sonde.model.spec import (
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

_PROBE, _CPU = 4, 8
"""Offsets in a record's header (`spec.HEADER_SIZE`)."""


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
    shown = [action for action in layout.actions if fields_of(action)]
    fields = [field for action in shown for field in fields_of(action)]
    if layout.time is not None:
        fields.append(layout.time)
    found = columns(
        fields, strings, RING_HEADER, stride, ((RING_HEADER + _PROBE, "probe"), (RING_HEADER + _CPU, "cpu"))
    )
    time = found.expressions[layout.time] if layout.time is not None else "0"
    extra: dict[str, Any] = {"new": tuple.__new__, "Record": Record, "probes": names, **values.functions}
    made = []
    called = iter(layout.names)
    for place, action in enumerate(shown):
        known = fields_of(action)
        extra[f"names{place}"] = values.names(action, called)
        extra[f"types{place}"] = action.type if isinstance(action, PrintAction) else 0
        sources = values.sources(action, [found.expressions[each] for each in known], f"types{place}")
        made.append(
            f"new(Record, (probes[probe], {time}, cpu, ({''.join(each + ', ' for each in sources)}), names{place}))"
        )
    if len(made) == 1:
        return compile_comprehension(made[0], found, stride, extra)
    read = compile_comprehension(f"({''.join(each + ', ' for each in made)})", found, stride, extra)
    return lambda view: [each for group in read(view) for each in group]
