"""The aggregating functions: a record of each, which all floors read.

Of each function the table has what its value is made of, how values become one, what a value comes to, and what a
picture draws of it. Values start at zero and only grow, one instance for each CPU, so that reading never loses a count.
What belongs to one floor stands there, by the function's name: the code that adds to a value
(`codegen/records/aggregations.py`), its prototype in D (`frontends/d/check/prototypes.py`), its value for Python
programs (`library/aggregations.py`). `tests/unit/test_aggregating.py` holds that each is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.model import buckets
from sonde.model.aggregation_words import (
    ADDED,
    ADDED_WITH_EXTENT,
    GREATEST,
    SQUARES_ADDED,
    Merging,
    Words,
    all_counts,
    average,
    average_unsigned,
    deviation,
    extent,
    greatest,
    greatest_unsigned,
    least,
    least_unsigned,
    only,
    only_unsigned,
    second,
    second_unsigned,
)
from sonde.model.buckets import BucketRange
from sonde.model.records import AggregationSpec
from sonde.typed import NamedTuple


class Drawn(NamedTuple):
    """What a value counts for in a picture of stacks: a number, its name for the heading, and its unit for profiles."""

    number: Callable[..., int]
    heading: str
    unit: str = ""


class AggregatingFunction(NamedTuple):
    """One function. `layout` says what the u64 words of a value are, `size` how many, by the function's parameters.

    `number` is what a value comes to, divided by a normalization factor; None: the function makes a histogram, whose
    `buckets` are those of the words, by the parameters. `is_signed`: formats take the number for a signed one.
    `has_parameters` tells whether these may be the parameters of an aggregation that somebody else describes.
    `may_be_zero`: all words may be zero though the aggregation was used; without keys it has a mark behind them.
    """

    name: str
    layout: str
    size: Callable[..., int]
    merging: Merging
    drawn: Drawn
    number: Callable[[Words, int], int] | None = None
    buckets: Callable[..., tuple[BucketRange, ...]] | None = None
    has_parameters: Callable[[Sequence[int]], bool] = lambda parameters: not parameters
    may_be_zero: bool = False
    is_signed: bool = True


_ALL = (
    AggregatingFunction("count", "n", lambda: 1, ADDED, Drawn(only, "count", "count"), only),
    AggregatingFunction("sum", "the sum, signed", lambda: 1, ADDED, Drawn(only, "sum"), only, may_be_zero=True),
    AggregatingFunction(
        "avg", "n, sum", lambda: 2, ADDED, Drawn(second, "sum of the values of avg()"), average
    ),
    AggregatingFunction(
        "stddev", "n, sum, low and high half of the sum of squares (128 bits)", lambda: 4, SQUARES_ADDED,
        Drawn(second, "sum of the values of stddev()"), deviation, is_signed=False,
    ),
    AggregatingFunction(
        "min", "n, INT64_MAX - smallest; over CPUs the greatest second word", lambda: 2, GREATEST,
        Drawn(least, "min() of each whole stack"), least,
    ),
    AggregatingFunction(
        "max", "n, greatest - INT64_MIN; over CPUs the greatest second word", lambda: 2, GREATEST,
        Drawn(greatest, "max() of each whole stack"), greatest,
    ),
    AggregatingFunction(
        "quantize", "127 buckets; with bits, one of negative values and those of powers divided", buckets.quantize_size,
        ADDED, Drawn(all_counts, "values counted by quantize()", "count"), buckets=buckets.quantize_buckets,
        has_parameters=buckets.are_bits, may_be_zero=True,
    ),
    AggregatingFunction(
        "lquantize", "one below `base`, one for each level, one above", buckets.lquantize_size, ADDED,
        Drawn(all_counts, "values counted by lquantize()", "count"), buckets=buckets.lquantize_buckets,
        has_parameters=buckets.are_levels, may_be_zero=True,
    ),
    AggregatingFunction(
        "llquantize", "see below", buckets.llquantize_size, ADDED,
        Drawn(all_counts, "values counted by llquantize()", "count"), buckets=buckets.llquantize_buckets,
        has_parameters=buckets.are_magnitudes, may_be_zero=True,
    ),
)  # fmt: skip

FUNCTIONS = {each.name: each for each in _ALL}
"""All by their names, as `Aggregation.function` and `AggregationSpec.function` have them."""

_OF_UNSIGNED: dict[str, Callable[[Words, int], int]] = {
    "sum": only_unsigned, "avg": average_unsigned, "min": least_unsigned, "max": greatest_unsigned,
}  # fmt: skip
"""What values come to that are of unsigned numbers. Words are then 2**64 - 1 less the smallest, and the greatest."""

_UNSIGNED = {
    name: FUNCTIONS[name]._replace(
        number=number,
        is_signed=False,
        drawn=FUNCTIONS[name].drawn._replace(number=second_unsigned if name == "avg" else number),
    )
    for name, number in _OF_UNSIGNED.items()
}

HISTOGRAMS = tuple(each.name for each in _ALL if each.buckets is not None)

EXTENT_WORDS = 2
"""INT64_MAX less the least value and the greatest less INT64_MIN, as min() and max() have theirs. Both are zero before
there is a value, and only then."""


def size_of(function: str, parameters: Sequence[int]) -> int:
    """The u64 words of a value."""
    return FUNCTIONS[function].size(*parameters)


def element_size(function: str, parameters: Sequence[int], keys: int, has_extent: bool) -> int:
    """The u64 words of an element of the map, for each CPU: what a value is made of, perhaps the mark of its use, and
    perhaps its extent."""
    return size_of(function, parameters) + has_mark(function, keys) + EXTENT_WORDS * has_extent


def has_mark(function: str, keys: int) -> bool:
    """Whether elements of an aggregation with so many keys have a word that says whether they were used."""
    return not keys and FUNCTIONS[function].may_be_zero


def merging_of(spec: AggregationSpec) -> Merging:
    """How values of the aggregation become one."""
    return ADDED_WITH_EXTENT if spec.has_extent else FUNCTIONS[spec.function].merging


def zero_words(spec: AggregationSpec) -> Words:
    """The value of nothing."""
    return (0,) * (spec.words + EXTENT_WORDS * spec.has_extent)


def without_extent(spec: AggregationSpec, words: Words) -> Words:
    """The words that the function has by itself: of a histogram the counts of its buckets."""
    return words[: spec.words]


def extent_of(spec: AggregationSpec, words: Words) -> tuple[int, int] | None:
    """The least and the greatest of the values that a histogram has counted, or bounds of them: those that were cleared
    count as well, unless the map was replaced. None where there were none, or it is not known."""
    return extent(*words[spec.words :]) if spec.has_extent else None


def buckets_of(spec: AggregationSpec) -> tuple[BucketRange, ...]:
    """The values that each word of a histogram counts, ascending. Raises ValueError for another function."""
    made = FUNCTIONS[spec.function].buckets
    if made is None:
        raise ValueError(f"{spec.function}() makes no histogram")
    return made(*spec.parameters)


def function_of(spec: AggregationSpec) -> AggregatingFunction:
    """The function of the aggregation, as it is for the numbers that it is given."""
    return _function(spec.function, spec.is_unsigned)


def _function(name: str, is_unsigned: bool) -> AggregatingFunction:
    return _UNSIGNED[name] if is_unsigned and name in _UNSIGNED else FUNCTIONS[name]


def sum_of(spec: AggregationSpec, words: Words) -> int:
    """The sum of an average's values."""
    return second_unsigned(words) if spec.is_unsigned else second(words)


def number_of(function: str, words: Words, factor: int = 1, is_unsigned: bool = False) -> int:
    """What a value has come to, divided by the normalization factor. Raises ValueError for a histogram."""
    number = _function(function, is_unsigned).number
    if number is None:
        raise ValueError(f"{function}() comes to no number")
    return number(words, factor)
