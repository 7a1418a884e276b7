"""hist() and lhist() as bars."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model.aggregating import buckets_of, without_extent
from sonde.model.aggregation_words import counts
from sonde.model.buckets import BucketRange
from sonde.model.records import AggregationSpec
from sonde.typed import NamedTuple

_WIDTH = 52
_SHORTENED = ((60, "E"), (50, "P"), (40, "T"), (30, "G"), (20, "M"), (10, "K"))


class Bar(NamedTuple):
    """Values from `low` to below `end`; None where there is no end."""

    low: int | None
    end: int | None
    counted: int


def bars(spec: AggregationSpec, words: Sequence[int], is_linear: bool, divisor: int = 1) -> list[Bar]:
    """The buckets from the first to the last that has counted anything; none if nothing has. Those of lhist() are not
    divided."""
    values = counts(without_extent(spec, tuple(words)))
    used = [place for place, value in enumerate(values) if value]
    if not used:
        return []
    ranges: Sequence[BucketRange] = buckets_of(spec)
    if not is_linear and not spec.parameters:
        # Negative values are one bucket.
        ranges, values = _without_signs(ranges, values)
        used = [place for place, value in enumerate(values) if value]
    shown = zip(ranges[used[0] : used[-1] + 1], values[used[0] : used[-1] + 1], strict=True)
    by = 1 if is_linear else divisor
    return [Bar(each.low, None if each.high is None else each.high + 1, count // by) for each, count in shown]


def _without_signs(ranges: Sequence[BucketRange], values: Sequence[int]) -> tuple[Sequence[BucketRange], list[int]]:
    negative = sum(1 for each in ranges if each.value < 0)
    whole = BucketRange(None, -1, -1)
    return (whole, *ranges[negative:]), [sum(values[:negative]), *values[negative:]]


def histogram(found: Sequence[Bar], is_linear: bool) -> bytes:
    """One line for each bar."""
    # What is divided may come to 0 everywhere.
    most = max((bar.counted for bar in found), default=0) or 1
    return b"".join(
        b"%-16s%8d |%-52s|\n" % (_label(bar, is_linear).encode(), bar.counted, b"@" * (bar.counted * _WIDTH // most))
        for bar in found
    )  # fmt: skip


def _label(bar: Bar, is_linear: bool) -> str:
    if bar.low is None:
        return f"(..., {_number(bar.end or 0)})"
    if bar.end is None:
        return f"[{_number(bar.low)}, ...)"
    if bar.end == bar.low + 1 and not is_linear:
        return f"[{_number(bar.low)}]"
    return f"[{_number(bar.low)}, {_number(bar.end)})"


def _number(value: int) -> str:
    """Powers of 1024 by their letters."""
    for shift, letter in _SHORTENED:
        if value and not value & (1 << shift) - 1:
            return f"{value >> shift}{letter}"
    return str(value)
