"""tseries(): the values of the last intervals, as lines of a graph or as objects."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from sonde.consume.events import Contents, ShownMap, Value
from sonde.frontends.bpftrace.series import Series
from sonde.model.aggregating import number_of, sum_of
from sonde.model.aggregation_words import Words
from sonde.model.records import AggregationSpec
from sonde.model.units import MICROSECOND, MILLISECOND, SECOND
from sonde.typed import NamedTuple

_WIDTH = 53
_LEFT = 21
"""Columns of the graph, and of the number at its left."""

_UNITS = ((SECOND, "s", 0), (MILLISECOND, "ms", 3), (MICROSECOND, "us", 6))
"""The nanoseconds of a unit, and the digits that times have behind the second where intervals are that long."""


class SeriesPoint(NamedTuple):
    """The begin of an interval, in ns since 1970, and its value; None without one."""

    start: int
    value: int | None


class SeriesLine(NamedTuple):
    """The points of a map's element, ascending and without gaps."""

    key: tuple[Value, ...]
    points: tuple[SeriesPoint, ...]


def lines(series: Series, shown: ShownMap) -> list[SeriesLine]:
    """The elements, by when they were written to last."""
    found: dict[tuple[Value, ...], dict[int, int]] = {}
    for key, number, value in _values(series, shown):
        of_key = found.setdefault(key, {})
        if value is not None:
            of_key[number] = value
    ends = {key: max(of_key, default=0) for key, of_key in found.items()}
    ordered = sorted(found, key=lambda key: (ends[key], key))
    last = max(ends.values(), default=0)
    made = [SeriesLine(key, _points(series, found[key], last)) for key in ordered]
    return made[max(len(made) - shown.top, 0) :] if shown.top else made


def _values(series: Series, shown: ShownMap) -> list[tuple[tuple[Value, ...], int, int | None]]:
    """The key of each value, the number of its interval and the value, None where there was none."""
    if isinstance(shown.of, Contents):
        field = shown.of.array.value
        each = [(key, int.from_bytes(data[: field.size], "little", signed=field.signed)) for key, data in shown.of.rows]
        return [(tuple(key[:-1]), _number(key[-1]), value) for key, value in each]
    (spec,) = shown.of.aggregations
    return [
        (tuple(row.key[:-1]), _number(row.key[-1]), _aggregated(series, spec, row.words[0]))
        for row in shown.of.rows
        if row.words[0] is not None
    ]


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _aggregated(series: Series, spec: AggregationSpec, words: Words) -> int | None:
    if not words[0]:
        return None
    return sum_of(spec, words) if series.function == "sum" else number_of(series.function, words, 1, spec.is_unsigned)


def _points(series: Series, values: Mapping[int, int], last: int) -> tuple[SeriesPoint, ...]:
    begin = last - series.intervals + 1
    first = min((each for each in values if each >= begin), default=last + 1)
    return tuple(SeriesPoint(number * series.interval, values.get(number)) for number in range(first, last + 1))


def objects(points: Sequence[SeriesPoint]) -> list[dict[str, object]]:
    """As JSON has them; dates are those of UTC."""
    return [{"interval_start": _date(each.start), "value": each.value} for each in points if each.value is not None]


def graph(points: Sequence[SeriesPoint]) -> bytes:
    """One row for each interval."""
    values = [each.value for each in points if each.value is not None]
    if not values:
        return b"<no data>\n"
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 1, high + 1
    step = (points[-1].start - points[0].start) // max(len(points) - 1, 1)
    unit, digits = next(((name, many) for least, name, many in _UNITS if step >= least), ("ns", 9))
    form = f"hh:mm:ss.{unit}" if digits else "hh:mm:ss"
    width = 8 + (digits and digits + 1)
    numbers = f"{'':{width + 1}}{low:<{_LEFT}}{high:>{_WIDTH - _LEFT}}"
    rows = [numbers, f"{form:<{width + 1}}|{'_' * (_WIDTH - 2)}|"]
    rows += [f"{_time(each.start, digits)} {_row(each.value, low, high)}" for each in points]
    rows += [f"{'':{width}} v{'_' * (_WIDTH - 2)}v", numbers]
    return "".join(f"{row}\n" for row in rows).encode()


def _row(value: int | None, low: int, high: int) -> str:
    line = ["|", *" " * (_WIDTH - 2), "|"]
    if low < 0 < high:
        line[_WIDTH * -low // (high - low)] = "."
    if value is None:
        return f"{''.join(line)} -"
    line[(_WIDTH - 1) * (value - low) // (high - low)] = "*"
    return f"{''.join(line)} {value}"


def _time(since_1970: int, digits: int) -> str:
    seconds, rest = divmod(since_1970, SECOND)
    text = time.strftime("%H:%M:%S", time.localtime(seconds))
    return f"{text}.{f'{rest:09d}'[:digits]}" if digits else text


def _date(since_1970: int) -> str:
    seconds, rest = divmod(since_1970, SECOND)
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(seconds))}.{rest:09d}"
