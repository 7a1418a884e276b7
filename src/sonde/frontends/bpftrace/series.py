"""What tseries() makes of a map."""

from __future__ import annotations

from sonde.typed import NamedTuple

LAST = ""
"""No function: the last value of an interval counts."""

FUNCTIONS = (LAST, "avg", "max", "min", "sum")

MODEL = {"avg": "avg", "sum": "avg", "max": "max", "min": "min"}
"""What holds the values of an interval. An average tells a sum of 0 from no value."""

MOST_ELEMENTS = 1 << 16
"""Intervals that a map has room for, of all its keys together."""


class Series(NamedTuple):
    """The nanoseconds of an interval, how many of them are shown, and the function that makes one value of those of an
    interval."""

    interval: int
    intervals: int
    function: str


def made_of(parameters: tuple[int, ...]) -> Series:
    """By the parameters that the checker keeps of a map."""
    interval, intervals, function = parameters
    return Series(interval, intervals, FUNCTIONS[function])


def entries(series: Series, keys: int) -> int:
    """The elements of a map with so many keys. What is evicted is found in groups: there is room for more than is
    shown."""
    return max(keys, min(4 * series.intervals * keys, MOST_ELEMENTS))
