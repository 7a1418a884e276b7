"""quantize, lquantize and llquantize as bar charts."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.consume.words import counts
from sonde.model.buckets import QUANTIZE_ZERO, llquantize_values, lquantize_values, quantize_values
from sonde.model.spec import AggregationSpec

_HEADING = b"\n%16s %41s %-9s\n" % (b"value", b"------------- Distribution -------------", b"count")
_WIDTH = 40


def histogram(spec: AggregationSpec, words: Sequence[int], factor: int = 1, is_zoomed: bool = False) -> bytes:
    """The chart, from the newline before its heading to the one after its last bar.

    Bars are parts of the sum of all counts or, zoomed, of the largest.
    """
    values = counts(tuple(words))
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
    """The first and the last bucket shown: one beyond those that are not empty, around zero if all are."""
    used = [place for place, value in enumerate(values) if value]
    if used:
        return max(used[0] - 1, 0), min(used[-1] + 1, len(values) - 1)
    middle = {"quantize": QUANTIZE_ZERO, "lquantize": 1}.get(spec.function, len(values) // 2)
    return middle - 1, middle + 1


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
    match spec.function:
        case "quantize":
            labels = [b"%d" % value for value in quantize_values()]
        case "lquantize":
            base, limit, step = spec.parameters[:3]
            levels = lquantize_values(base, limit, step)
            above = base + len(levels) * step
            labels = [b"< %d" % base, *[b"%d" % level for level in levels], b">= %d" % above]
        case _:
            labels = _llquantize_labels(spec.parameters, first)
    return labels[first : last + 1]


def _llquantize_labels(parameters: Sequence[int], first: int) -> list[bytes]:
    factor, low, high, steps = parameters[:4]
    bounds = llquantize_values(factor, low, high, steps)
    beyond = factor ** (high + 1)
    if low == 0:
        middle = b"0"
    else:
        # Where no negative bucket is in sight the sign need not be spoken of.
        middle = (b"abs() < %d" if first <= len(bounds) else b"< %d") % factor**low
    negative = [b"%d" % -bound for bound in reversed(bounds)]
    return [b"<= %d" % -beyond, *negative, middle, *[b"%d" % bound for bound in bounds], b">= %d" % beyond]
