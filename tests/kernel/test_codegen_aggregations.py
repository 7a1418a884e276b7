"""Aggregating functions in the kernel: the words in the map against Python's sums and buckets."""

import os
from bisect import bisect_right

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.d.d_run import Run

from sonde.model.aggregating import number_of
from sonde.model.buckets import llquantize_values, lquantize_values

EDGES = (0, 1, -1, 2, 3, 9, 10, 11, 99, 100, 1000, -9, -10, -11, 2**31, -(2**31), 2**32, 2**62, -(2**62),
         2**63 - 1, -(2**63), -(2**63) + 1)  # fmt: skip
values = st.lists(
    st.one_of(st.sampled_from(EDGES), st.integers(-(2**63), 2**63 - 1), st.integers(-200, 200)),
    min_size=1, max_size=8,
)  # fmt: skip
relaxed = settings(max_examples=12, deadline=None)
MASK = 2**64 - 1
PARAMETERS = {"lquantize": "-50, 130, 20", "llquantize": "10, 0, 3, 20"}


INCREMENTS = (None, 3, -2, 0)
VARIABLES = {"zero": 0, "negative": -2}


def literal(value):
    return f"((long){value & MASK:#x}UL)"


def words(function, numbers, keyed=False, increment=None):
    """The only key's words after these numbers, given as constants and as a variable."""
    parameters = PARAMETERS.get(function)
    key = '["k"]' if keyed else ""
    aggregate = "".join(
        f"x = {literal(n)}; @{key} = {function}({'' if function == 'count' else value}"
        f"{f', {parameters}' if parameters else ''}{f', {increment}' if increment is not None else ''});"
        for i, n in enumerate(numbers)
        for value in [literal(n) if i % 3 == 0 else "x"]
    )
    with Run(f"long x, zero, negative; BEGIN {{ negative = -2; {aggregate} }}") as program:
        (found,) = program.begin().aggregation().values()
        if function in BUCKETS:
            # What is not counted is not among the values.
            wanted = None if increment in (0, "zero") else (min(numbers), max(numbers))
            assert [*program.extents().values()] == [wanted]
        return found


@pytest.mark.long
@relaxed
@given(values, st.booleans())
def test_sums(numbers, keyed):
    """count, sum and avg wrap at 64 bits; stddev's squares have 128."""
    count, total = len(numbers), sum(numbers) & MASK
    squares = sum(n * n for n in numbers) % 2**128
    assert words("count", numbers, keyed) == (count,)
    assert words("sum", numbers, keyed) == (total,)
    assert words("avg", numbers, keyed) == (count, total)
    assert words("stddev", numbers, keyed) == (count, total, squares & MASK, squares >> 64)


@relaxed
@given(values, st.booleans())
def test_extremes(numbers, keyed):
    """min and max over all of int64."""
    for function, extreme in (("min", min), ("max", max)):
        found = words(function, numbers, keyed)
        assert number_of(function, found) == extreme(numbers)
        assert found[0] == len(numbers)


def quantize_bucket(n):
    if n == 0:
        return 63
    return 63 + n.bit_length() if n > 0 else max(0, 63 - (-n).bit_length())


def lquantize_bucket(n):
    levels = lquantize_values(-50, 130, 20)
    return min(bisect_right(levels, n), len(levels) + 1) if n < levels[-1] + 20 else len(levels) + 1


def llquantize_bucket(n):
    bounds = [*llquantize_values(10, 0, 3, 20), 10**4]
    number = bisect_right(bounds, abs(n))
    return len(bounds) + (number if n >= 0 else -number)


BUCKETS = {"quantize": quantize_bucket, "lquantize": lquantize_bucket, "llquantize": llquantize_bucket}


@relaxed
@given(values, st.booleans(), st.sampled_from(sorted(BUCKETS)), st.sampled_from((*INCREMENTS, *VARIABLES)))
def test_histograms(numbers, keyed, function, increment):
    """Each value is in its bucket, with its increment, and between the extremes that are kept beside the buckets."""
    found = words(function, numbers, keyed, increment)
    wanted = [0] * len(found)
    for n in numbers:
        wanted[BUCKETS[function](n)] += 1 if increment is None else VARIABLES.get(increment, increment)
    assert list(found) == [n & MASK for n in wanted]


def test_keys_of_every_size_are_kept_apart():
    """Tuples that differ in one field of one byte are different keys, gaps are zero."""
    body = "".join(
        f'@[(char){a}, "k{b}", (long){c}, (short){d}] = count();' for a in (1, 2) for b in (1, 2) for c in (1, -1)
        for d in (3, 3)
    )  # fmt: skip
    with Run(f"BEGIN {{ {body} }}") as program:
        found = program.begin().aggregation()
        assert sorted(found.values()) == [(2,)] * 8
        assert len(found) == 8


def test_a_full_map_loses_updates_and_counts_them():
    """Keys beyond aggsize: as many counted as lost as are missing, the rest is there."""
    with Run("int i; profile:::tick-1s { @[1] = count(); } BEGIN { @[i++] = count(); }", aggsize=64) as program:
        for _ in range(101):
            program.activate(0)
            program.begin()
        found = program.aggregation()
        kept = sum(count for (count,) in found.values())
        assert 0 < kept < 101
        assert program.lost() == {"aggregations": 101 - kept}


def test_several_cpus_add_up():
    """Every CPU has its own instance; the sum is exact."""
    before = os.sched_getaffinity(0)
    with Run("int n; BEGIN { @ = sum(7); @q = quantize(-n); @m = max(n++); }") as program:
        try:
            for cpu in sorted(before):
                os.sched_setaffinity(0, {cpu})
                program.begin()
        finally:
            os.sched_setaffinity(0, before)
        assert program.aggregation("_") == {bytes(4): (7 * len(before),)}
        assert program.extents("q") == {bytes(4): (-(len(before) - 1), 0)}
        assert number_of("max", program.aggregation("m")[bytes(4)]) == len(before) - 1
