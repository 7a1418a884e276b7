"""What tseries() makes of a map."""

from __future__ import annotations

from sonde.typed import NamedTuple

LAST = ""
"""No function: the last value of an interval counts."""

FUNCTIONS = (LAST, "avg", "max", "min", "sum")


class Series(NamedTuple):
    """The nanoseconds of an interval, how many of them are shown, and the function that makes one value of those of an
    interval."""

    interval: int
    intervals: int
    function: str
