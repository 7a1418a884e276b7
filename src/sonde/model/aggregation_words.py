"""Arithmetic on the words of an aggregation's value (`sonde.model.aggregating` says what they are for each function).

Words are unsigned 64-bit and wrap.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from sonde.typed import NamedTuple

Words = tuple[int, ...]

MASK = (1 << 64) - 1
_MASK_128 = (1 << 128) - 1
_INT64_MIN = -(1 << 63)
_INT64_MAX = (1 << 63) - 1


def signed(word: int) -> int:
    """A word as int64_t."""
    return word - (1 << 64) if word >> 63 else word


class Merging(NamedTuple):
    """How values become one: `add` gives the value of two, `total` that of at least one.

    `subtract` takes back an earlier value, which is how a clear loses nothing: the kernel's words are left alone and
    what they were is subtracted from then on. None: that is impossible, and a clear replaces the map.
    """

    add: Callable[[Words, Words], Words]
    total: Callable[[Sequence[Words]], Words]
    subtract: Callable[[Words, Words], Words] | None = None


def _add(left: Words, right: Words) -> Words:
    return tuple([(a + b) & MASK for a, b in zip(left, right, strict=True)])


def _total(each: Sequence[Words]) -> Words:
    return tuple([sum(column) & MASK for column in zip(*each, strict=True)])


def _subtract(left: Words, right: Words) -> Words:
    return tuple([(a - b) & MASK for a, b in zip(left, right, strict=True)])


def _squares(words: Words) -> int:
    return words[2] | words[3] << 64


def _with_squares(words: Words, squares: int) -> Words:
    return (*words[:2], squares & MASK, squares >> 64 & MASK)


def _add_deviations(left: Words, right: Words) -> Words:
    return _with_squares(_add(left, right), _squares(left) + _squares(right) & _MASK_128)


def _total_deviations(each: Sequence[Words]) -> Words:
    return _with_squares(_total(each), sum(map(_squares, each)) & _MASK_128)


def _subtract_deviations(left: Words, right: Words) -> Words:
    return _with_squares(_subtract(left, right), _squares(left) - _squares(right) & _MASK_128)


def _greater(left: Words, right: Words) -> Words:
    return (left[0] + right[0]) & MASK, max(left[1], right[1])


def _greatest(each: Sequence[Words]) -> Words:
    return sum(one[0] for one in each) & MASK, max(one[1] for one in each)


def _add_with_extent(left: Words, right: Words) -> Words:
    return *_add(left[:-2], right[:-2]), max(left[-2], right[-2]), max(left[-1], right[-1])


def _total_with_extent(each: Sequence[Words]) -> Words:
    *counted, least, greatest = zip(*each, strict=True)
    return *[sum(column) & MASK for column in counted], max(least), max(greatest)


def _subtract_with_extent(left: Words, right: Words) -> Words:
    """What came after `right` is between the extremes of all."""
    return *_subtract(left[:-2], right[:-2]), *left[-2:]


ADDED = Merging(_add, _total, _subtract)
"""Each word is a sum."""

SQUARES_ADDED = Merging(_add_deviations, _total_deviations, _subtract_deviations)
"""Each word is a sum, the third and the fourth are the halves of one."""

GREATEST = Merging(_greater, _greatest)
"""The first word is a sum; the second one is the greatest of all."""

ADDED_WITH_EXTENT = Merging(_add_with_extent, _total_with_extent, _subtract_with_extent)
"""Each word is a sum, but for the last two, which are the greatest of all."""


def instances(value: bytes, words: int) -> list[Words]:
    """The words of each CPU out of a per-CPU map value."""
    return list(struct.iter_unpack(f"<{words}Q", value[: len(value) // (8 * words) * 8 * words]))


def merger(merging: Merging, words: int) -> Callable[[bytes], Words]:
    """What makes of a per-CPU map value the words over all CPUs."""
    if words > 1:
        return lambda value: _merged(merging, instances(value, words))

    def total(value: bytes) -> Words:
        return (sum(struct.unpack(f"<{len(value) // 8}Q", value)) & MASK,)

    return total


def _merged(merging: Merging, each: Sequence[Words]) -> Words:
    return each[0] if len(each) == 1 else merging.total(each)


def divided(number: int, divisor: int) -> int:
    """Division that truncates toward zero, as in C."""
    if divisor == 1:
        return number
    quotient = abs(number) // abs(divisor)
    return quotient if (number < 0) == (divisor < 0) else -quotient


def only(words: Words, factor: int = 1) -> int:
    """The first word, divided by the normalization factor as all these are."""
    return divided(signed(words[0]), factor)


def average(words: Words, factor: int = 1) -> int:
    """Of how many and their sum."""
    count = words[0]
    return divided(divided(signed(words[1]), factor), count) if count else 0


def deviation(words: Words, factor: int = 1) -> int:
    """The root of the average of the squares less the square of the average, in 128-bit integers."""
    count, size = words[0], abs(factor)
    if not count:
        return 0
    squares = _squares(words) // size // size // count
    mean = average(words, size)
    from math import isqrt  # a library of its own, for one function

    return isqrt(max(squares - mean * mean, 0))


def least(words: Words, factor: int = 1) -> int:
    """Of how many and the distance of the least from the greatest number; 0 of none."""
    return divided(_INT64_MAX - words[1], factor) if words[0] else 0


def greatest(words: Words, factor: int = 1) -> int:
    """Of how many and the distance of the greatest from the least number; 0 of none."""
    return divided(words[1] + _INT64_MIN, factor) if words[0] else 0


def only_unsigned(words: Words, factor: int = 1) -> int:
    """As `only`, of unsigned numbers, as the following ones are."""
    return divided(words[0], factor)


def average_unsigned(words: Words, factor: int = 1) -> int:
    """Of how many and their sum."""
    return divided(divided(words[1], factor), words[0]) if words[0] else 0


def least_unsigned(words: Words, factor: int = 1) -> int:
    """Of how many and the distance of the least from the greatest number; 0 of none."""
    return divided(MASK - words[1], factor) if words[0] else 0


def greatest_unsigned(words: Words, factor: int = 1) -> int:
    """Of how many and the greatest; 0 of none."""
    return divided(words[1], factor) if words[0] else 0


def second_unsigned(words: Words) -> int:
    """The second word as it is."""
    return words[1]


def second(words: Words) -> int:
    """The second word."""
    return signed(words[1])


def extent(least: int, greatest: int) -> tuple[int, int] | None:
    """The least and the greatest value by their words, which only grow from zero; None where there was no value."""
    return (_INT64_MAX - least, greatest + _INT64_MIN) if least or greatest else None


def counts(words: Words, factor: int = 1) -> list[int]:
    """The signed, normalized counts of a histogram's buckets."""
    return [divided(signed(word), factor) if word else 0 for word in words]


def all_counts(words: Words) -> int:
    """What all buckets have counted."""
    return sum(counts(words))
