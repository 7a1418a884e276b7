"""The rows of a heat map: which values each bucket of an aggregation is of, in words."""

from __future__ import annotations

from collections.abc import Collection

from sonde.model.aggregating import buckets_of
from sonde.model.records import AggregationSpec
from sonde.typed import NamedTuple

MOST_ROWS = 160
"""More buckets are shown a few together in a row."""


class HeatRows(NamedTuple):
    """Row n from below is of the buckets `first + n * together` and on; `labels` are their (value, all values)."""

    first: int
    together: int
    labels: tuple[tuple[str, str], ...]

    def row(self, bucket: int) -> int:
        """The row that a bucket is in."""
        return (bucket - self.first) // self.together


def rows_of(spec: AggregationSpec, used: Collection[int], most: int = MOST_ROWS) -> HeatRows:
    """From the lowest to the highest bucket in use; the one that a quantize has for 0 if none is."""
    buckets = buckets_of(spec)
    first, last = min(used, default=len(buckets) // 2), max(used, default=len(buckets) // 2)
    together = -(-(last + 1 - first) // most)
    rows = [(buckets[low], buckets[min(low + together - 1, last)]) for low in range(first, last + 1, together)]
    labels = [(_label(lowest.low, lowest.high), _words(lowest.low, highest.high)) for lowest, highest in rows]
    return HeatRows(first, together, tuple(labels))


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
