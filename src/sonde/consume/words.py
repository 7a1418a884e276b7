"""Arithmetic on the words of an aggregation's value, as `spec.AggregationSpec` lays them out for each function.

Words are unsigned 64-bit and wrap. All functions but min and max can be undone by subtraction, which is how a clear
loses nothing: the kernel's words are left alone and what they were is subtracted from then on.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from math import isqrt

from sonde.model.buckets import QUANTIZE_ZERO, llquantize_values, lquantize_values, quantize_values
from sonde.model.spec import AggregationSpec

Words = tuple[int, ...]

MASK = (1 << 64) - 1
_MASK_128 = (1 << 128) - 1
_INT64_MIN = -(1 << 63)
_INT64_MAX = (1 << 63) - 1

EXTREMES = ("min", "max")
HISTOGRAMS = ("quantize", "lquantize", "llquantize")


def signed(word: int) -> int:
    """A word as int64_t."""
    return word - (1 << 64) if word >> 63 else word


def _add(left: Words, right: Words) -> Words:
    return tuple([(a + b) & MASK for a, b in zip(left, right, strict=True)])


def _subtract(left: Words, right: Words) -> Words:
    return tuple([(a - b) & MASK for a, b in zip(left, right, strict=True)])


def _squares(words: Words) -> int:
    return words[2] | words[3] << 64


def _with_squares(words: Words, squares: int) -> Words:
    return (*words[:2], squares & MASK, squares >> 64 & MASK)


def _add_deviations(left: Words, right: Words) -> Words:
    return _with_squares(_add(left, right), _squares(left) + _squares(right) & _MASK_128)


def _subtract_deviations(left: Words, right: Words) -> Words:
    return _with_squares(_subtract(left, right), _squares(left) - _squares(right) & _MASK_128)


def _extreme(left: Words, right: Words) -> Words:
    return (left[0] + right[0]) & MASK, max(left[1], right[1])


def adder(function: str) -> Callable[[Words, Words], Words]:
    """What combines two values of an aggregating function into the value of both."""
    if function in EXTREMES:
        return _extreme
    return _add_deviations if function == "stddev" else _add


def subtracter(function: str) -> Callable[[Words, Words], Words]:
    """What takes back an earlier value; there is none for min and max."""
    return _subtract_deviations if function == "stddev" else _subtract


def instances(value: bytes, words: int) -> list[Words]:
    """The words of each CPU out of a per-CPU map value."""
    return list(struct.iter_unpack(f"<{words}Q", value[: len(value) // (8 * words) * 8 * words]))


def merged(function: str, value: bytes, words: int) -> Words:
    """The words over all CPUs."""
    each = instances(value, words)
    if len(each) == 1:
        return each[0]
    if function in EXTREMES:
        return sum(one[0] for one in each) & MASK, max(one[1] for one in each)
    total = tuple([sum(column) & MASK for column in zip(*each, strict=True)])
    return _with_squares(total, sum(map(_squares, each)) & _MASK_128) if function == "stddev" else total


def merger(function: str, words: int) -> Callable[[bytes], Words]:
    """`merged` for values of one aggregation."""
    if words > 1:
        return lambda value: merged(function, value, words)

    def total(value: bytes) -> Words:
        return (sum(struct.unpack(f"<{len(value) // 8}Q", value)) & MASK,)

    return total


def _divided(number: int, divisor: int) -> int:
    """Division that truncates toward zero, as in C."""
    if divisor == 1:
        return number
    quotient = abs(number) // abs(divisor)
    return quotient if (number < 0) == (divisor < 0) else -quotient


def _average(words: Words, factor: int) -> int:
    count = words[0]
    return _divided(_divided(signed(words[1]), factor), count) if count else 0


def _deviation(words: Words, factor: int) -> int:
    count = words[0]
    if not count:
        return 0
    squares = _squares(words) // factor // factor // count
    average = _average(words, factor)
    return isqrt(max(squares - average * average, 0))


def scalar(function: str, words: Words, factor: int = 1) -> int:
    """The number that count, sum, avg, stddev, min or max has come to, divided by the normalization factor.

    stddev is the root of the average of the squares less the square of the average, in 128-bit integers.
    """
    match function:
        case "avg":
            return _average(words, factor)
        case "stddev":
            return _deviation(words, abs(factor))
        case "min":
            return _divided(_INT64_MAX - words[1], factor) if words[0] else 0
        case "max":
            return _divided(words[1] + _INT64_MIN, factor) if words[0] else 0
        case _:
            return _divided(signed(words[0]), factor)


def counts(words: Words, factor: int = 1) -> list[int]:
    """The signed, normalized counts of a histogram's buckets."""
    return [_divided(signed(word), factor) if word else 0 for word in words]


def bucket_weights(spec: AggregationSpec) -> list[int]:
    """What each bucket counts for when histograms are compared: its value nearest to zero, or one beyond the range."""
    match spec.function:
        case "quantize":
            return quantize_values()
        case "lquantize":
            base, limit, step = spec.parameters[:3]
            levels = lquantize_values(base, limit, step)
            return [base - 1, *levels, base + len(levels) * step + 1]
        case _:
            factor, low, high, steps = spec.parameters[:4]
            bounds = llquantize_values(factor, low, high, steps)
            beyond = factor ** (high + 1)
            return [-beyond, *[-bound for bound in reversed(bounds)], 0, *bounds, beyond]


def zero_words(spec: AggregationSpec) -> Words:
    return (0,) * spec.words


def measure(spec: AggregationSpec) -> Callable[[Sequence[int]], tuple[int, int]]:
    """What values of this aggregation are sorted by; for histograms the weighted sum, then the count at zero."""
    if spec.function not in HISTOGRAMS:
        return lambda words: (scalar(spec.function, tuple(words)), 0)
    weights = bucket_weights(spec)
    zero = QUANTIZE_ZERO if spec.function == "quantize" else weights.index(0) if 0 in weights else None

    def weigh(words: Sequence[int]) -> tuple[int, int]:
        total = sum([signed(word) * weight for word, weight in zip(words, weights, strict=False) if word])
        return total, signed(words[zero]) if zero is not None else 0

    return weigh
