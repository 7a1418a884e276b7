"""The buckets of quantize, lquantize and llquantize: which values each word of an aggregation counts.

The code generator puts values into these buckets and the report labels them. In all three the words ascend with the
values they stand for, so a histogram is printed from the first word to the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sonde.typed import NamedTuple

QUANTIZE_BUCKETS = 127
QUANTIZE_ZERO = 63
"""Bucket of zero; 2**k .. 2**(k+1) - 1 is bucket 64 + k and the negative values mirror it."""

_MOST_LEVELS = 1 << 16
"""As the language has it: levels, factors and steps are 16-bit numbers."""


class BucketRange(NamedTuple):
    """Values from `low` to `high`, both among them; None where there is no end. `value` is the one that stands for them
    where histograms are labelled and compared: the lowest or the nearest to zero, or one beyond the range."""

    low: int | None
    high: int | None
    value: int


def quantize_values() -> list[int]:
    """The value nearest to zero of each of the 127 buckets: -2**62 ... -1, 0, 1 ... 2**62."""
    powers = [1 << exponent for exponent in range(QUANTIZE_ZERO)]
    return [-power for power in reversed(powers)] + [0] + powers


_TABLES = 16
"""So many tables of buckets are kept: each row of a printed aggregation asks for the same one."""


FINEST = 5
"""The most bits of a value, behind its highest one, that a bucket tells apart."""

_EXPONENTS = 63


def quantize_size(bits: int = 0) -> int:
    """How many words there are: with `bits` each power of two has 2**bits buckets, and all negative values are one."""
    return 1 + (_EXPONENTS - bits + 1 << bits) if bits else QUANTIZE_BUCKETS


@lru_cache(_TABLES)
def quantize_buckets(bits: int = 0) -> tuple[BucketRange, ...]:
    """One for each word."""
    return _divided_powers(bits) if bits else tuple([_power(value) for value in quantize_values()])


def _divided_powers(bits: int) -> tuple[BucketRange, ...]:
    """The negative values; those that are buckets for themselves; then each power of two, divided."""
    found = [BucketRange(None, -1, -1), *(BucketRange(value, value, value) for value in range(1 << bits))]
    for exponent in range(bits, _EXPONENTS):
        step = 1 << exponent - bits
        lows = range(1 << exponent, 2 << exponent, step)
        found += [BucketRange(low, low + step - 1, low) for low in lows]
    return tuple(found)


def are_bits(parameters: Sequence[int]) -> bool:
    """Whether they may be the parameters of quantize()."""
    return not parameters or (len(parameters) == 1 and 1 <= parameters[0] <= FINEST)


def _power(value: int) -> BucketRange:
    if value > 0:
        return BucketRange(value, 2 * value - 1, value)
    if not value:
        return BucketRange(0, 0, 0)
    # The lowest has the least number as well, which no power's end comes to.
    low = 2 * value if value == -1 << QUANTIZE_ZERO - 1 else 2 * value + 1
    return BucketRange(low, value, value)


def lquantize_values(base: int, limit: int, step: int) -> list[int]:
    """The lower bound of each level; the words are one below `base`, these levels, one from the last level's end on.

    The last level ends at base + levels * step, which is beyond no `limit` that the step divides.
    """
    return [base + level * step for level in range((limit - base) // step)]


def lquantize_size(base: int, limit: int, step: int) -> int:
    """How many words there are."""
    return (limit - base) // step + 2


@lru_cache(_TABLES)
def lquantize_buckets(base: int, limit: int, step: int) -> tuple[BucketRange, ...]:
    """One for each word."""
    levels = lquantize_values(base, limit, step)
    end = base + len(levels) * step
    within = [BucketRange(level, level + step - 1, level) for level in levels]
    return BucketRange(None, base - 1, base - 1), *within, BucketRange(end, None, end + 1)


def are_levels(parameters: Sequence[int]) -> bool:
    """Whether these can be base, limit and step."""
    if len(parameters) != 3:
        return False
    base, limit, step = parameters
    return max(abs(base), abs(limit)) <= 1 << 31 and step > 0 and 0 < (limit - base) // step < _MOST_LEVELS


def llquantize_values(factor: int, low: int, high: int, steps: int) -> list[int]:
    """The lower bounds of the positive buckets, from factor**low to below factor**(high + 1).

    Each order of magnitude m is cut at the multiples of factor**(m + 1) / steps (at least 1), and begins at factor**m.
    The words are: at most -factor**(high + 1); the negatives of these buckets, the largest magnitude first; magnitudes
    below factor**low; these buckets; at least factor**(high + 1). A negative value is in the mirror image of the
    bucket of its magnitude.
    """
    bounds = []
    for magnitude in range(low, high + 1):
        start, end = factor**magnitude, factor ** (magnitude + 1)
        width = max(end // steps, 1)
        bounds.append(start)
        bounds.extend(range((start // width + 1) * width, end, width))
    return bounds


def llquantize_size(factor: int, low: int, high: int, steps: int) -> int:
    """How many words there are."""
    return 2 * len(llquantize_values(factor, low, high, steps)) + 3


@lru_cache(_TABLES)
def llquantize_buckets(factor: int, low: int, high: int, steps: int) -> tuple[BucketRange, ...]:
    """One for each word."""
    bounds = llquantize_values(factor, low, high, steps)
    ends = [*bounds[1:], factor ** (high + 1)]
    positive = [BucketRange(bound, end - 1, bound) for bound, end in zip(bounds, ends, strict=True)]
    pairs = zip(reversed(bounds), reversed(ends), strict=True)
    negative = [BucketRange(1 - end, -bound, -bound) for bound, end in pairs]
    beyond, middle = ends[-1], bounds[0] - 1
    outer = BucketRange(None, -beyond, -beyond), BucketRange(beyond, None, beyond)
    return outer[0], *negative, BucketRange(-middle, middle, 0), *positive, outer[1]


def are_magnitudes(parameters: Sequence[int]) -> bool:
    """Whether these can be factor, lowest and highest magnitude, and steps."""
    if len(parameters) != 4:
        return False
    factor, low, high, steps = parameters
    in_bounds = 2 <= factor < _MOST_LEVELS and 0 <= low <= high < 64 and 0 < steps < _MOST_LEVELS
    return in_bounds and factor ** (high + 1) < 1 << 64
