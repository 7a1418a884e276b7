"""Maps as text: one row for each element, by value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.consume.events import Contents, ShownMap, Table, Value
from sonde.frontends.bpftrace.report import series as report_series
from sonde.frontends.bpftrace.report.histograms import bars, histogram
from sonde.frontends.bpftrace.report.typed_values import LanguageTypes, value_text
from sonde.model.aggregating import HISTOGRAMS, number_of, sum_of, without_extent
from sonde.model.aggregation_words import divided
from sonde.model.records import AggregationSpec, ArraySpec, Field
from sonde.typed import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sonde.frontends.bpftrace.series import Series


class Rows(NamedTuple):
    """The elements of a map, each a key and the bytes or words behind it; what the program calls the function of an
    aggregation."""

    spec: AggregationSpec | ArraySpec
    function: str
    rows: list[Any]


class MapText:
    """`functions` are what the program calls the functions of its aggregations, by their names."""

    def __init__(self, types: LanguageTypes, functions: Mapping[str, str], series: Mapping[str, Series]) -> None:
        self._types = types
        self._functions = functions
        self._series = series

    def show(self, shown: ShownMap) -> bytes:
        """All rows, or the last ones, of a map."""
        series = self.series(shown)
        if series is not None:
            return self._graphs(series, shown)
        if isinstance(shown.of, Contents):
            return self._array(shown.of, shown)
        return self._aggregation(shown.of, shown)

    def series(self, shown: ShownMap) -> Series | None:
        """What tseries() makes of the map, if it does."""
        return self._series.get(_spec_of(shown).name or "_") if self._series else None

    def _graphs(self, series: Series, shown: ShownMap) -> bytes:
        spec = _spec_of(shown)
        own: Any = spec._replace(keys=spec.keys[:-1], key_types=spec.key_types[:-1])
        name = self._types.name(_name_of(spec))
        return b"".join(
            b"%s%s:\n%s\n" % (name, self._key(own, each.key), report_series.graph(each.points))
            for each in report_series.lines(series, shown)
        )

    def rows(self, shown: ShownMap) -> Rows:
        """The elements that are shown, by their values."""
        spec = _spec_of(shown)
        return Rows(spec, self._functions.get(spec.name, getattr(spec, "function", "")), ordered_rows(shown))

    def parts(self, spec: AggregationSpec | ArraySpec, key: Sequence[Value]) -> list[bytes]:
        """The text of each of an element's keys."""
        each = zip(spec.keys, spec.key_types, key, strict=True)
        return [self._part(field, number, value) for field, number, value in each]

    def _array(self, contents: Contents, shown: ShownMap) -> bytes:
        spec = contents.array
        name = self._types.name(f"@{spec.name}")
        return b"".join(
            b"%s%s: %s\n" % (name, self._key(spec, key), self._value(spec, data, shown.divisor))
            for key, data in self.rows(shown).rows
        )

    def _value(self, spec: ArraySpec, data: bytes, divisor: int | None) -> bytes:
        field = spec.value
        if field.kind == "int" and divisor:
            value = int.from_bytes(data[: field.size], "little", signed=field.signed)
            return self._types.number(self._types[spec.type], divided(value, divisor))
        return value_text(self._types, spec.type, data[: field.size])

    def _aggregation(self, table: Table, shown: ShownMap) -> bytes:
        (spec,) = table.aggregations
        found = self.rows(shown)
        name = self._types.name(_name_of(spec))
        return b"".join(
            b"%s%s:%s" % (name, self._key(spec, key), _aggregated(spec, found.function, words, shown))
            for key, words in found.rows
        )

    def _key(self, spec: AggregationSpec | ArraySpec, key: Sequence[Value]) -> bytes:
        return b"[" + b", ".join(self.parts(spec, key)) + b"]" if spec.keys else b""

    def _part(self, field: Field, number: int, value: Any) -> bytes:
        match field.kind:
            case "int":
                return self._types.number(self._types[number], value)
            case "string" | "interned":
                return self._types.shown(bytes(value))
            case _:
                return value_text(self._types, number, value)


def ordered_rows(shown: ShownMap) -> list[tuple[tuple[Value, ...], Any]]:
    """The elements that are shown, by their values: keys, and the bytes or words behind each."""
    if isinstance(shown.of, Contents):
        field = shown.of.array.value
        rows: list[Any] = sorted(shown.of.rows, key=lambda row: (_order(field, row[1]), row[0]))
        return _last(rows, shown.top)
    (spec,) = shown.of.aggregations
    found = [(row.key, row.words[0]) for row in shown.of.rows if row.words[0] is not None]
    return _last(sorted(found, key=lambda row: (_measure(spec, row[1]), row[0])), shown.top)


def _spec_of(shown: ShownMap) -> AggregationSpec | ArraySpec:
    return shown.of.array if isinstance(shown.of, Contents) else shown.of.aggregations[0]


def _name_of(spec: AggregationSpec | ArraySpec) -> str:
    return f"@{'' if spec.name == '_' else spec.name}"


def _last(rows: list[Any], top: int | None) -> list[Any]:
    return rows[max(len(rows) - top, 0) :] if top else rows


def _order(field: Field, data: bytes) -> Any:
    """What elements are sorted by."""
    if field.kind == "int":
        return int.from_bytes(data[: field.size], "little", signed=field.signed)
    return data[: field.size]


def _measure(spec: AggregationSpec, words: Sequence[int]) -> int:
    if spec.function in HISTOGRAMS:
        return sum(without_extent(spec, tuple(words)))
    return number_of(spec.function, tuple(words), 1, spec.is_unsigned)


def _aggregated(spec: AggregationSpec, function: str, words: Sequence[int], shown: ShownMap) -> bytes:
    """What stands behind the colon."""
    divisor = shown.divisor or 1
    if spec.function in HISTOGRAMS:
        is_linear = function == "lhist"
        return b"\n" + histogram(bars(spec, words, is_linear, divisor), is_linear) + b"\n"
    if function == "stats":
        total = sum_of(spec, tuple(words))
        # What was counted is not divided, nor is the sum.
        average = number_of("avg", tuple(words), divisor, spec.is_unsigned)
        return b" { .count = %d, .average = %d, .total = %d }\n" % (words[0], average, total)
    return b" %d\n" % number_of(spec.function, tuple(words), divisor, spec.is_unsigned)
