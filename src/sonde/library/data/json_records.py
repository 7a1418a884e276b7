"""From the bytes of records to lines of JSON: one function for each layout, compiled when its first record comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.consume.decode import RecordColumns, columns, compile_comprehension
from sonde.consume.generated import GeneratedExpression, code, constant, tuple_of
from sonde.formats.bpf_ring import RING_HEADER
from sonde.library.data.json_values import JsonStrings, encode, json_value
from sonde.library.record_reader import fields_of
from sonde.library.statement_values import RecordedStatement, distinct, recorded_statements
from sonde.library.values import Values
from sonde.model.probe import Probe
from sonde.model.records import CPU_AT, PROBE_AT, REAL, Action, Field, PrintfAction, RecordLayout, TraceAction
from sonde.typed import Any
from sonde.visible import unicode_text

RecordLines = Callable[[memoryview], "list[bytes]"]

_STRINGS = ("string", "interned", "long_string", "named", "noted")


class JsonHeads(dict[int, bytes]):
    """How lines of records begin, by the identifiers of their probes."""

    def learn(self, probes: Sequence[Probe]) -> None:
        for each in probes:
            name = f"{each.provider}:{each.module}:{each.function}:{each.name}"
            self[each.id] = b'{"type":"record","probe":%b,"time":' % encode(unicode_text(name)).encode()


def record_lines(
    layout: RecordLayout, strings: Sequence[bytes], stride: int, heads: JsonHeads, texts: JsonStrings, values: Values
) -> RecordLines:
    """A function from the bytes of a run of records (`Sink.run`) to a line for each statement of each, in order."""
    shown = [*recorded_statements(layout, values)]
    fields = [field for each in shown for field in fields_of(each.action)]
    if layout.time is not None:
        fields.append(layout.time)
    header = (RING_HEADER + PROBE_AT, code("probe")), (RING_HEADER + CPU_AT, code("cpu"))
    found = columns(fields, strings, RING_HEADER, stride, header)
    time = found.expressions[layout.time] if layout.time is not None else constant(0)
    extra: dict[str, Any] = {"heads": heads, "texts": texts, "shown": _shown, "join": b"".join, **values.functions}
    made = [_line(each, time, found, values) for each in shown]
    lines = made[0] if len(made) == 1 else code("join({})", tuple_of(made))
    return compile_comprehension(lines, found, stride, extra)


def _shown(value: Any) -> bytes:
    return encode(json_value(value)).encode()


def _line(
    statement: RecordedStatement, time: GeneratedExpression, found: RecordColumns, values: Values
) -> GeneratedExpression:
    """The expression of what one statement has recorded, as a line."""
    action = statement.action
    members = [_member(each, found, values) for each in _plain(action)]
    if fields_of(action) and not members:
        taken = values.expressions(action, [found.expressions[each] for each in fields_of(action)])
        members = [(b"%b", code("shown({})", each)) for each in taken]
    forms = b",".join(
        _literal(encode(unicode_text(name)) + ":") + form
        for name, (form, _) in zip(distinct(statement.names), members, strict=True)
    )
    text = "" if statement.text is None else f',"text":{encode(statement.text)}'
    rest = _literal(f'}},"statement":{statement.number}{text}}}\n')
    template = b'%b%d,"cpu":%d,"values":{' + forms + rest
    shown = [code("heads[probe]"), time, code("cpu"), *(each for _, each in members)]
    return code("{} % {}", constant(template), tuple_of(shown))


def _literal(text: str) -> bytes:
    """Text of a format."""
    return text.encode().replace(b"%", b"%%")


def _plain(action: Action) -> tuple[Field, ...]:
    """The fields that are a value each."""
    return fields_of(action) if isinstance(action, TraceAction | PrintfAction) else ()


def _member(field: Field, found: RecordColumns, values: Values) -> tuple[bytes, GeneratedExpression]:
    """How a value is formatted, and its expression."""
    decoded = found.expressions[field]
    if field.kind == "int" and field.detail != REAL:
        return b"%d", decoded
    if field.kind in _STRINGS:
        return b"%b", code("texts[{}]", decoded)
    return b"%b", code("shown({})", values.expression(field, decoded))
