"""quantize, lquantize and llquantize as bar charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.model.aggregating import buckets_of, without_extent
from sonde.model.aggregation_words import counts
from sonde.model.buckets import BucketRange
from sonde.model.records import AggregationSpec
from sonde.typed import NamedTuple

_HEADING = b"\n%16s %41s %-9s\n" % (b"value", b"------------- Distribution -------------", b"count")
_WIDTH = 40


def histogram(spec: AggregationSpec, words: Sequence[int], factor: int = 1, is_zoomed: bool = False) -> bytes:
    """The chart, from the newline before its heading to the one after its last bar.

    Bars are parts of the sum of all counts or, zoomed, of the largest.
    """
    values = counts(without_extent(spec, tuple(words)))
    first, last = range_of(spec, values)
    labels = labels_of(spec, first, last)
    total = max(map(abs, values), default=0) if is_zoomed else sum(map(abs, values))
    has_positive = any(value > 0 for value in values)
    has_negative = any(value < 0 for value in values)
    shown = counts(tuple(words[first : last + 1]), factor)
    rows = [
        b"%16s %s\n" % (label, bar(value, total, has_positive, has_negative) + b" %-9d" % count)
        for label, value, count in zip(labels, values[first : last + 1], shown, strict=True)
    ]
    return _HEADING + b"".join(rows)


def range_of(spec: AggregationSpec, values: Sequence[int]) -> tuple[int, int]:
    """The first and the last bucket shown: one beyond those that are not empty, three of DTrace's choice if all are."""
    used = [place for place, value in enumerate(values) if value]
    if used:
        return max(used[0] - 1, 0), min(used[-1] + 1, len(values) - 1)
    first = CHARTS[spec.function].first_of_empty(len(values))
    return first, first + 2


def bar(value: int, total: int, has_positive: bool, has_negative: bool) -> bytes:
    """The bar and its axis, 41 columns; with values of both signs the axis is in the middle.

    Bars are rounded to whole columns of 1/40 (1/20 each side) of all counts added without their signs.
    """
    width = _WIDTH // 2 if has_positive and has_negative else _WIDTH
    length = (2 * abs(value) * width + total) // (2 * total) if total else 0
    signs = b"@" * length
    if not has_negative:
        return b"|" + signs.ljust(width)
    if not has_positive:
        return signs.rjust(width) + b"|"
    if value > 0:
        return b" " * width + b"|" + signs.ljust(width)
    return signs.rjust(width) + b"|" + b" " * width


def labels_of(spec: AggregationSpec, first: int, last: int) -> list[bytes]:
    """The labels of the buckets from `first` to `last`."""
    return CHARTS[spec.function].labels(buckets_of(spec)[first : last + 1])


class Chart(NamedTuple):
    """What belongs to one function: the labels of the buckets shown, and the first of the three buckets that a chart
    without any count has, by how many buckets there are."""

    labels: Callable[[Sequence[BucketRange]], list[bytes]]
    first_of_empty: Callable[[int], int]


def _powers(shown: Sequence[BucketRange]) -> list[bytes]:
    return [b"%d" % bucket.value for bucket in shown]


def _levels(shown: Sequence[BucketRange]) -> list[bytes]:
    return [_level(*bucket) for bucket in shown]


def _level(low: int | None, high: int | None, value: int) -> bytes:
    if low is None:
        return b"< %d" % (value + 1)
    return b">= %d" % low if high is None else b"%d" % value


def _magnitudes(shown: Sequence[BucketRange]) -> list[bytes]:
    # Where no negative bucket is in sight the sign need not be spoken of.
    about_zero = b"abs() < %d" if shown[0].value < 0 else b"< %d"
    return [_magnitude(*bucket, about_zero) for bucket in shown]


def _magnitude(low: int | None, high: int | None, value: int, about_zero: bytes) -> bytes:
    if low is None or high is None:
        return (b"<= %d" if low is None else b">= %d") % value
    return about_zero % (high + 1) if not value and high else b"%d" % value


CHARTS = {
    "quantize": Chart(_powers, lambda buckets: buckets // 2 - 1),
    "lquantize": Chart(_levels, lambda buckets: 0),
    # The bucket about zero and the two above it, never one below.
    "llquantize": Chart(_magnitudes, lambda buckets: buckets // 2),
}
