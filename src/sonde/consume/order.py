"""The order in which keys of aggregations are printed and truncated.

By value, then key; option aggsortkey sorts by key alone, aggsortkeypos says which part of the key counts first,
aggsortpos which of several aggregations. Integer keys are compared as unsigned numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.consume.events import TableRow, Value
from sonde.consume.options import Options
from sonde.consume.store import Key
from sonde.model.aggregating import buckets_of, function_of, zero_words
from sonde.model.aggregation_words import Words, signed
from sonde.model.records import AggregationSpec, Field
from sonde.typed import Any


def _part(field: Field, value: Value) -> Any:
    """One part of a key in comparable form, all of one type for one field."""
    if isinstance(value, int):
        return value & ((1 << 8 * field.size) - 1)
    return value


def _rotated(items: Sequence[Any], position: int) -> list[Any]:
    """The items from `position` on, then those before; a position that does not exist means the first."""
    start = position if 0 <= position < len(items) else 0
    return [*items[start:], *items[:start]]


def _key_order(fields: Sequence[Field], position: int) -> Callable[[Key], Any]:
    if len(fields) == 1:
        (field,) = fields
        return lambda key: _part(field, key[0])
    places = _rotated(range(len(fields)), position)
    return lambda key: tuple([_part(fields[place], key[place]) for place in places])


def sort_rows(rows: list[tuple[Key, TableRow]], specs: Sequence[AggregationSpec], options: Options) -> None:
    """Sort the (identity, row) pairs of a table; a missing value counts as zero."""
    by_key = _key_order(specs[0].keys, options.aggsortkeypos)
    rows.sort(key=lambda pair: by_key(pair[0]), reverse=options.aggsortrev)
    if not options.aggsortkey:
        # Rows of the same value stay in the order of their keys.
        rows.sort(key=_value_order(specs, options.aggsortpos), reverse=options.aggsortrev)


def _value_order(specs: Sequence[AggregationSpec], position: int) -> Callable[[tuple[Key, TableRow]], Any]:
    places = _rotated(range(len(specs)), position)
    measures = [(place, measure(specs[place]), zero_words(specs[place])) for place in places]

    def order(pair: tuple[Key, TableRow]) -> Any:
        words = pair[1].words
        return [weigh(words[place] or zero) for place, weigh, zero in measures]

    return order


def measure(spec: AggregationSpec) -> Callable[[Words], tuple[int, int]]:
    """What values of this aggregation are sorted by; for histograms the weighted sum, then the count at zero."""
    number = function_of(spec).number
    if number is not None:
        return lambda words: (number(words, 1), 0)
    weights = [bucket.value for bucket in buckets_of(spec)]
    zero = weights.index(0) if 0 in weights else None

    def weigh(words: Words) -> tuple[int, int]:
        total = sum([signed(word) * weight for word, weight in zip(words, weights, strict=False) if word])
        return total, signed(words[zero]) if zero is not None else 0

    return weigh


def truncation_order(spec: AggregationSpec) -> Callable[[Key, Words], Any]:
    """Lowest value first, the options notwithstanding."""
    by_key = _key_order(spec.keys, 0)
    weigh = measure(spec)
    return lambda key, words: (weigh(words), by_key(key))
