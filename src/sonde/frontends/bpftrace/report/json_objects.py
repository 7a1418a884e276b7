"""What is shown as JSON, one object a line: its type, and the data."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from sonde.consume.events import Contents, ShownMap, Value
from sonde.frontends.bpftrace.report import series as report_series
from sonde.frontends.bpftrace.report.histograms import Bar, bars
from sonde.frontends.bpftrace.report.maps import MapText
from sonde.frontends.bpftrace.report.objects import buffer_bytes
from sonde.frontends.bpftrace.report.typed_values import (
    LanguageTypes,
    bits_of,
    has_form,
    is_tuple,
    is_unread,
    members_of,
    number_text,
    own_keyword,
)
from sonde.model.aggregating import HISTOGRAMS, number_of, sum_of
from sonde.model.aggregation_words import divided
from sonde.model.records import AggregationSpec, ArraySpec
from sonde.report.number import REALS, real_text, real_value
from sonde.typed import TYPE_CHECKING, Any
from sonde.visible import unicode_text, visible_json

if TYPE_CHECKING:
    from sonde.frontends.bpftrace.series import Series


def json_line(kind: str, data: Any, **more: Any) -> bytes:
    """One object."""
    return object_line({"type": kind, **more, "data": data})


def object_line(found: dict[str, Any]) -> bytes:
    """An object in one line, in which nothing steers a terminal."""
    return visible_json(encoded(found)).encode() + b"\n"


def encoded(value: Any) -> str:
    """As JSON with bpftrace's blanks: none behind the commas of lists, unless their elements are objects. What is no
    UTF-8 is text, too, as JSON is UTF-8."""
    if isinstance(value, str):
        return json.dumps(unicode_text(value), ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{encoded(key)}: {encoded(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        has_objects = bool(value) and isinstance(value[0], dict)
        return "[" + (", " if has_objects else ",").join(map(encoded, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def counted_line(kind: str, what: str, count: int) -> bytes:
    """How many there are of something, twice, as bpftrace has it."""
    return json_line(kind, {what: count}, count=count)


def text_line(kind: str, text: bytes) -> bytes:
    return json_line(kind, _decoded(text))


def value_line(types: LanguageTypes, label: str, number: int, data: bytes) -> bytes:
    """What print() shows of a value of that type: with a `label`, of the map of that name, which has no keys."""
    return _shown_line(label, json_value(types, number, data))


def shown_text_line(label: str, text: bytes) -> bytes:
    """The same of text."""
    return _shown_line(label, _decoded(text))


def _shown_line(label: str, value: Any) -> bytes:
    return json_line("map", {label: value}) if label else json_line("value", value)


def json_value(types: LanguageTypes, number: int, data: bytes) -> Any:
    """A value whose memory begins with `data`. Enumerators are their numbers."""
    spec = types[number]
    match spec.kind:
        case "string":
            return _decoded(data.partition(b"\0")[0])
        case "array":
            element = types[spec.element]
            if element.kind == "char":
                return _decoded(data[: spec.size].partition(b"\0")[0])
            size = element.size or 1
            return [json_value(types, spec.element, data[at : at + size]) for at in range(0, spec.size, size)]
        case "struct" if own_keyword(spec) == "buffer":
            return list(buffer_bytes(data[: spec.size]))
        case "struct" if own_keyword(spec):
            return _decoded(types.objects(own_keyword(spec), data[: spec.size]))
        case "struct":
            found = [
                (each.name, None if is_unread(types, spec, each) else _member(types, each, data))
                for each in members_of(types, spec)
            ]
            return [value for _, value in found] if is_tuple(spec) else dict(found)
        case kind if kind in REALS:
            return _real(data[: spec.size], kind)
        case _:
            value = int.from_bytes(data[: spec.size], "little", signed=spec.signed)
            if has_form(spec):
                return _decoded(number_text(spec, value))
            return bool(value) if spec.name == "_Bool" else json_number(value)


def _member(types: LanguageTypes, member: Any, data: bytes) -> Any:
    if member.bits:
        return json_number(bits_of(types[member.type], member.offset, member.bits, data))
    return json_value(types, member.type, data[member.offset // 8 :])


def _real(data: bytes, kind: str) -> float | str:
    """A floating-point number; JSON has no infinity, nothing that is no number, and no complex one."""
    value = real_value(data, kind)
    return value if isinstance(value, float) and math.isfinite(value) else real_text(data, kind).decode()


def json_number(value: int) -> int | str:
    """Numbers of JSON are floating point ones: what is none of these is text."""
    return value if int(float(value)) == value else str(value)


def _decoded(text: bytes) -> str:
    return text.decode(errors="surrogateescape")


class MapJson:
    """Maps as objects; `rows` has their elements in order."""

    def __init__(self, types: LanguageTypes, rows: MapText) -> None:
        self._types = types
        self._rows = rows

    def show(self, shown: ShownMap) -> bytes:
        """A map is an object by its keys or, without keys, its value; an empty one is not shown, as in text."""
        series = self._rows.series(shown)
        if series is not None:
            return self._series(series, shown)
        found = self._rows.rows(shown)
        kind, spec = "map", found.spec
        values: list[Any] = []
        for _, content in found.rows:
            if isinstance(shown.of, Contents):
                values.append(self._element(shown.of, content, shown.divisor))
            else:
                kind, value = _aggregated(spec, found.function, content, shown.divisor or 1)
                values.append(value)
        if not values:
            return b""
        name = f"@{'' if spec.name == '_' else spec.name}"
        if not spec.keys:
            return json_line(kind, {name: values[0]})
        return json_line(kind, {name: self._members(spec, [key for key, _ in found.rows], values)})

    def _series(self, series: Series, shown: ShownMap) -> bytes:
        spec = shown.of.array if isinstance(shown.of, Contents) else shown.of.aggregations[0]
        own = spec._replace(keys=spec.keys[:-1], key_types=spec.key_types[:-1])
        found = report_series.lines(series, shown)
        if not found:
            return b""
        name = f"@{'' if spec.name == '_' else spec.name}"
        if not own.keys:
            return json_line("tseries", {name: report_series.objects(found[0].points)})
        points = [report_series.objects(each.points) for each in found]
        return json_line("tseries", {name: self._members(own, [each.key for each in found], points)})

    def _members(
        self, spec: AggregationSpec | ArraySpec, keys: Sequence[Sequence[Value]], values: Sequence[Any]
    ) -> Any:
        """Values by the texts of their keys. Keys that differ may have one text, as `a,b` and `a`, `b`: the later ones
        have their number behind it."""
        found: dict[str, Any] = {}
        for key, value in zip(keys, values, strict=True):
            text = wanted = unicode_text(_decoded(b",".join(self._rows.parts(spec, key))))
            number = 1
            while wanted in found:
                number += 1
                wanted = f"{text}#{number}"
            found[wanted] = value
        return found

    def _element(self, contents: Contents, data: bytes, divisor: int | None) -> Any:
        spec = contents.array
        value = json_value(self._types, spec.type, data[: spec.value.size])
        return divided(value, divisor) if divisor and spec.value.kind == "int" and isinstance(value, int) else value


def _aggregated(spec: AggregationSpec | Any, function: str, words: Sequence[int], divisor: int) -> tuple[str, Any]:
    """The type of the object, and a value."""
    if spec.function in HISTOGRAMS:
        found = bars(spec, words, function == "lhist", divisor)
        return "hist", [_bar(each) for each in found]
    number = number_of(spec.function, tuple(words), divisor, spec.is_unsigned)
    if function == "stats":
        total = sum_of(spec, tuple(words))
        return "stats", {"count": words[0], "average": number, "total": json_number(total)}
    return ("stats" if function == "avg" else "map"), json_number(number)


def _bar(bar: Bar) -> dict[str, int]:
    low = {} if bar.low is None else {"min": bar.low}
    high = {} if bar.end is None else {"max": bar.end - 1}
    return {**low, **high, "count": bar.counted}
