"""The buckets of quantize, lquantize and llquantize: which values each word of an aggregation counts.

The code generator puts values into these buckets and the report labels them. In all three the words ascend with the
values they stand for, so a histogram is printed from the first word to the last.
"""

from __future__ import annotations

from collections.abc import Sequence

QUANTIZE_BUCKETS = 127
QUANTIZE_ZERO = 63
"""Bucket of zero; 2**k .. 2**(k+1) - 1 is bucket 64 + k and the negative values mirror it."""

WORDS = {"count": 1, "sum": 1, "avg": 2, "min": 2, "max": 2, "stddev": 4, "quantize": QUANTIZE_BUCKETS}
"""The u64 words of a value of each function whose parameters do not change them."""


def quantize_values() -> list[int]:
    """The value nearest to zero of each of the 127 buckets: -2**62 ... -1, 0, 1 ... 2**62."""
    powers = [1 << exponent for exponent in range(QUANTIZE_ZERO)]
    return [-power for power in reversed(powers)] + [0] + powers


def lquantize_values(base: int, limit: int, step: int) -> list[int]:
    """The lower bound of each level; the words are one below `base`, these levels, one from the last level's end on.

    The last level ends at base + levels * step, which is beyond no `limit` that the step divides.
    """
    return [base + level * step for level in range((limit - base) // step)]


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


def words_of(function: str, parameters: Sequence[int]) -> int:
    """The u64 words of one value of an aggregating function."""
    if function == "lquantize":
        return len(lquantize_values(*parameters)) + 2
    if function == "llquantize":
        return 2 * len(llquantize_values(*parameters)) + 3
    return WORDS[function]
