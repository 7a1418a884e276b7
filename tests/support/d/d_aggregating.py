"""D's aggregating functions in Python, from docs/reference.md: what is shown of the values that one was given."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from support.d.d_model import reduced, truncated


class Function(NamedTuple):
    name: str
    shown: Callable[[list], Any]
    """Of a list of (value, weight) or (value,): a number, or of a histogram a dict of counts by label."""
    constants: list[str] = []
    takes: int = 1
    is_histogram: bool = False


def signed(value):
    return reduced(value, 64, True)


def average(values):
    return truncated(signed(sum(value for (value,) in values)), len(values))


def deviation(values):
    """The root of the mean square less the square of the mean, in whole numbers."""
    return math.isqrt(sum(value * value for (value,) in values) // len(values) - average(values) ** 2)


def histogram(label):
    def shown(values):
        counts = {}
        for value, *weight in values:
            at = label(value)
            counts[at] = counts.get(at, 0) + (weight[0] if weight else 1)
        return {at: signed(count) for at, count in counts.items() if signed(count)}

    return shown


def power_label(value):
    if value == 0:
        return "0"
    power = 1 << (abs(value).bit_length() - 1)
    return str(power if value > 0 else -power)


def linear_label(base, limit, step):
    end = base + (limit - base) // step * step

    def label(value):
        if value < base:
            return f"< {base}"
        return f">= {end}" if value >= end else str(base + (value - base) // step * step)

    return label


def log_linear_label(factor, low, high, steps):
    def label(value):
        if value < factor**low:
            return "0"
        if value >= factor ** (high + 1):
            return f">= {factor ** (high + 1)}"
        magnitude = next(m for m in range(low, high + 1) if value < factor ** (m + 1))
        width = max(1, factor ** (magnitude + 1) // steps)
        return str(value // width * width)

    return label


FUNCTIONS = (
    Function("count", len, takes=0),
    Function("sum", lambda values: signed(sum(value for (value,) in values))),
    Function("avg", average),
    Function("min", lambda values: min(value for (value,) in values)),
    Function("max", lambda values: max(value for (value,) in values)),
    Function("stddev", deviation),
    Function("quantize", histogram(power_label), is_histogram=True),
    Function("quantize", histogram(power_label), takes=2, is_histogram=True),
    Function("lquantize", histogram(linear_label(0, 1000, 100)), ["0", "1000", "100"], is_histogram=True),
    Function("lquantize", histogram(linear_label(-50, 50, 7)), ["-50", "50", "7"], takes=2, is_histogram=True),
    Function("llquantize", histogram(log_linear_label(10, 0, 5, 20)), ["10", "0", "5", "20"], is_histogram=True),
)
