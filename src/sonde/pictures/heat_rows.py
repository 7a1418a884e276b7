"""The rows of a heat map: which values each bucket of an aggregation is of, in words."""

from __future__ import annotations

from collections.abc import Collection

from sonde.model.buckets import llquantize_values, lquantize_values, quantize_values
from sonde.model.spec import AggregationSpec
from sonde.typed import NamedTuple

MOST_ROWS = 160
"""More buckets are shown a few together in a row."""

Range = tuple[int | None, int | None]
"""The least and the greatest value of a bucket; None where there is no end."""


class Rows(NamedTuple):
    """Row n from below is of the buckets `first + n * together` and on; `labels` are their (value, all values)."""

    first: int
    together: int
    labels: tuple[tuple[str, str], ...]

    def row(self, bucket: int) -> int:
        """The row that a bucket is in."""
        return (bucket - self.first) // self.together


def rows_of(spec: AggregationSpec, used: Collection[int], most: int = MOST_ROWS) -> Rows:
    """From the lowest to the highest bucket in use; the one that a quantize has for 0 if none is."""
    ranges = bucket_ranges(spec)
    first, last = min(used, default=len(ranges) // 2), max(used, default=len(ranges) // 2)
    together = -(-(last + 1 - first) // most)
    labels = [
        (_label(ranges[low][0], ranges[low][1]), _words(ranges[low][0], ranges[min(low + together - 1, last)][1]))
        for low in range(first, last + 1, together)
    ]
    return Rows(first, together, tuple(labels))


def bucket_ranges(spec: AggregationSpec) -> list[Range]:
    """The values of each word of an aggregation, in their order."""
    if spec.function == "quantize":
        return [_power(value) for value in quantize_values()]
    if spec.function == "lquantize":
        base, limit, step = spec.parameters[:3]
        levels = lquantize_values(base, limit, step)
        within: list[Range] = [(level, level + step - 1) for level in levels]
        return [(None, base - 1), *within, (base + len(levels) * step, None)]
    factor, low, high, steps = spec.parameters[:4]
    bounds = llquantize_values(factor, low, high, steps)
    ends = [*bounds[1:], factor ** (high + 1)]
    positive: list[Range] = [(bound, end - 1) for bound, end in zip(bounds, ends, strict=True)]
    negative: list[Range] = [(-(end - 1), -bound) for bound, end in zip(reversed(bounds), reversed(ends), strict=True)]
    middle = bounds[0] - 1
    return [(None, -ends[-1]), *negative, (-middle, middle), *positive, (ends[-1], None)]


def _power(value: int) -> Range:
    if value > 0:
        return value, 2 * value - 1
    return (2 * value + 1, value) if value < 0 else (0, 0)


def _label(least: int | None, greatest: int | None) -> str:
    """The value nearest to zero, as a histogram's axis has it."""
    if least is None:
        return f"≤ {greatest:,}"
    if greatest is None:
        return f"≥ {least:,}"
    return f"{greatest:,}" if greatest < 0 else f"{max(least, 0) if least < 0 else least:,}"


def _words(least: int | None, greatest: int | None) -> str:
    if least is None and greatest is None:
        return "all values"
    if least is None:
        return f"{greatest:,} and less"
    if greatest is None:
        return f"{least:,} and more"
    return f"{least:,}" if least == greatest else f"{least:,} to {greatest:,}"
