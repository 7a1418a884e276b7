"""printa: tables of aggregations, in the default layout or by a format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from sonde.consume.events import Table, TableRow
from sonde.consume.generated import code, constant, function
from sonde.consume.options import Options
from sonde.frontends.d.report import printf
from sonde.frontends.d.report.histogram import histogram
from sonde.frontends.d.report.lines import has_lines, lines
from sonde.frontends.d.report.trace import key_piece
from sonde.model.aggregating import function_of, zero_words
from sonde.model.aggregation_words import Words
from sonde.model.conversions import Conversion
from sonde.model.records import AggregationSpec
from sonde.report.escaping import Escaping
from sonde.report.piece import ConversionArgument, FormatPiece, environment, field_argument, formatting
from sonde.report.stack import Addresses
from sonde.typed import Any

_Formatter = Callable[[tuple[Any, ...], list[Any]], bytes]


class AggregateText:
    """Formats tables; the formatter of each printa is compiled once."""

    def __init__(self, addresses: Addresses, options: Options) -> None:
        self._options = options
        self._environment = environment(addresses)
        self._formatters: dict[tuple[Any, ...], _Formatter] = {}

    def format(self, table: Table, conversions: tuple[Conversion, ...] | None, escaping: Escaping) -> Iterator[bytes]:
        """The text of each row of the table."""
        if conversions is None and has_lines(table, self._options):
            return lines(table, self._options, self._keys(table.aggregations, escaping))
        formatter = self._formatter(table.aggregations, conversions, escaping)
        is_zoomed = self._options.aggzoom
        values = _shown_values(table, is_zoomed) if conversions is None else _bare_values(table, is_zoomed)
        return (formatter(row.key, values(row)) for row in table.rows)

    def _keys(self, specs: tuple[AggregationSpec, ...], escaping: Escaping) -> Callable[[tuple[Any, ...]], bytes]:
        """What gives the text of a key."""
        formatter = self._formatter(specs, None, escaping)
        return lambda key: formatter(key, [b""] * len(specs))

    def _formatter(
        self, specs: tuple[AggregationSpec, ...], conversions: tuple[Conversion, ...] | None, escaping: Escaping
    ) -> _Formatter:
        identity = specs, conversions, escaping
        formatter = self._formatters.get(identity)
        if formatter is None:
            pieces: Iterable[FormatPiece]
            if conversions is None:
                pieces = _default_pieces(specs, escaping)
            else:
                pieces = _format_pieces(specs, conversions, escaping)
            formatter = function("keys, values", formatting(pieces), self._environment)
            self._formatters[identity] = formatter
        return formatter


def _bare_values(table: Table, is_zoomed: bool) -> Callable[[TableRow], list[Any]]:
    """What makes of a row what each aggregation has come to: a number, or a finished chart."""
    each = [(spec, zero_words(spec), factor) for spec, factor in zip(table.aggregations, table.factors, strict=True)]
    if len(each) == 1:
        ((spec, zero, factor),) = each
        return lambda row: [_value(spec, row.words[0] or zero, factor, is_zoomed)]
    return lambda row: [
        _value(spec, words or zero, factor, is_zoomed)
        for (spec, zero, factor), words in zip(each, row.words, strict=True)
    ]


def _shown_values(table: Table, is_zoomed: bool) -> Callable[[TableRow], list[Any]]:
    """The values for the default layout: text, with those of each CPU below."""
    bare_values = _bare_values(table, is_zoomed)

    def shown_values(row: TableRow) -> list[Any]:
        shown = [_shown(value) for value in bare_values(row)]
        for place, cpus in enumerate(row.cpus):
            spec, factor = table.aggregations[place], table.factors[place]
            for cpu, words in enumerate(cpus):
                shown[place] += b"\n    [CPU %d]" % cpu + _shown(_value(spec, words, factor, is_zoomed))
        return shown

    return shown_values


def _value(spec: AggregationSpec, words: Words, factor: int, is_zoomed: bool) -> int | bytes:
    number = function_of(spec).number
    return histogram(spec, words, factor, is_zoomed) if number is None else number(words, factor)


def _shown(value: int | bytes) -> bytes:
    return value if isinstance(value, bytes) else b" %16d" % value


def _default_pieces(specs: tuple[AggregationSpec, ...], escaping: Escaping) -> Iterator[FormatPiece]:
    for place, field in enumerate(specs[0].keys):
        yield key_piece(field, code("keys[{}]", constant(place)), escaping)
    for place in range(len(specs)):
        yield FormatPiece(b"%s", (code("values[{}]", constant(place)),))
    yield FormatPiece(b"\n")


def _format_pieces(
    specs: tuple[AggregationSpec, ...], conversions: tuple[Conversion, ...], escaping: Escaping
) -> list[FormatPiece]:
    """A format takes the key's parts in order; each conversion with @ the next aggregation, the last one repeatedly."""
    keys = iter([field_argument(field, code("keys[{}]", constant(place))) for place, field in enumerate(specs[0].keys)])
    functions = enumerate(function_of(spec) for spec in specs)
    results = [
        ConversionArgument(
            code("values[{}]", constant(place)), "text" if each.number is None else "number", 8, each.is_signed
        )
        for place, each in functions
    ]
    following = iter(results)

    return printf.printf_pieces(conversions, keys, escaping, lambda: next(following, results[-1]))
