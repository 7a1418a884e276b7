"""Percentiles of histograms lie between the least and the greatest of the values that were counted."""

import itertools
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.d.histograms import HISTOGRAMS, bucket_of

from sonde.library.aggregations import value_of
from sonde.library.histograms import LinearQuantize, LogLinearQuantize, Quantize
from sonde.model.aggregating import merging_of, size_of, zero_words
from sonde.model.aggregation_words import MASK
from sonde.model.records import AggregationSpec

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
EDGES = (0, 1, -1, 15, 16, 20400, 2**53 + 1, 2**62, LEAST, LEAST + 1, GREATEST - 1, GREATEST)
numbers = st.one_of(st.sampled_from(EDGES), st.integers(LEAST, GREATEST), st.integers(-(10**5), 10**5))
counted = st.lists(st.tuples(numbers, st.integers(1, 1 << 57)), min_size=1, max_size=20)
percents = st.lists(st.one_of(st.integers(0, 100), st.floats(0, 100)), max_size=8)


def described(histogram, has_extent=True):
    name, parameters = histogram
    words = size_of(name, parameters)
    return AggregationSpec("a", name, parameters, (), 4, words, "map", False, has_extent=has_extent)


def words_of(spec, values):
    """What programs make of values with their weights on one CPU."""
    words = [*zero_words(spec)]
    for value, weight in values:
        place = bucket_of(spec.function, spec.parameters, value)
        words[place] = (words[place] + weight) & MASK
        if spec.has_extent:
            words[-2:] = max(words[-2], GREATEST - value), max(words[-1], value - LEAST)
    return tuple(words)


def of(spec, *cpus):
    return value_of(spec, merging_of(spec).total([words_of(spec, values) for values in cpus]))


def require_within(histogram, least, greatest, wanted):
    """Percentiles ascend from no less than `least` to no more than `greatest`."""
    found = [histogram.percentile(percent) for percent in sorted([0, *wanted, 100])]
    assert least <= found[0]
    assert found[-1] <= greatest
    assert all(lower <= higher for lower, higher in itertools.pairwise(found))
    return found


def extremes(values):
    return min(value for value, _ in values), max(value for value, _ in values)


@given(HISTOGRAMS, st.lists(counted, min_size=1, max_size=3), percents)
def test_percentiles_go_from_the_least_to_the_greatest_value(histogram, cpus, wanted):
    spec = described(histogram)
    made = of(spec, *cpus)
    least, greatest = extremes([each for cpu in cpus for each in cpu])
    for each in (made, pickle.loads(pickle.dumps(made))):
        assert each.extent == (least, greatest)
        found = require_within(each, least, greatest, wanted)
        assert (found[0], found[-1]) == (least, greatest)


@given(HISTOGRAMS, counted, counted, percents)
def test_histograms_that_become_one_have_the_extremes_of_both(histogram, one, other, wanted):
    spec = described(histogram)
    first, second = of(spec, one), of(spec, other)
    both = first.merge(second)
    assert both == first + second == of(spec, one, other)
    assert require_within(both, *extremes([*one, *other]), wanted)[0] == extremes([*one, *other])[0]
    later = both - first
    assert later == second
    # What came later is between the extremes of all, and in its own buckets.
    require_within(later, *extremes([*one, *other]), wanted)
    nothing = first - first
    assert (nothing + second).percentile(50) <= (second + nothing).percentile(100)


@given(HISTOGRAMS, counted, counted, percents)
def test_what_a_clear_leaves_is_between_the_extremes_of_all(histogram, before, after, wanted):
    spec = described(histogram)
    earlier = words_of(spec, before)
    total = merging_of(spec).total([earlier, words_of(spec, after)])
    later = value_of(spec, merging_of(spec).subtract(total, earlier))
    assert later == of(spec, after)
    require_within(later, *extremes([*before, *after]), wanted)


@given(HISTOGRAMS, counted, percents)
def test_histograms_of_earlier_files_have_no_extent(histogram, values, wanted):
    """Their percentiles are those of the buckets."""
    made = of(described(histogram, has_extent=False), values)
    known = of(described(histogram), values)
    assert made.extent is None
    assert made == known
    assert hash(made) == hash(known)
    low, high = made.buckets[0].low, made.buckets[-1].high
    require_within(made, LEAST if low is None else low, GREATEST if high is None else high, wanted)
    assert (made + known).extent is None
    nothing = type(made)((0,) * len(made.words), made.parameters)
    assert (nothing + known).extent == (known + nothing).extent == known.extent


@given(HISTOGRAMS, counted, st.integers(0, MASK), st.integers(0, MASK), percents)
def test_any_words_for_an_extent_are_shown(histogram, values, least, greatest, wanted):
    """A file may have been made to do harm."""
    spec = described(histogram)
    made = value_of(spec, (*words_of(spec, values)[:-2], least, greatest))
    found = [made.percentile(percent) for percent in wanted]
    assert all(isinstance(each, float | int) for each in found)


@pytest.mark.parametrize("kind", [
    Quantize((0,) * 78 + (1,) + (0,) * 48, extent=(20400, 20400)),
    LogLinearQuantize((0, 0, 0, 0, 2), (10, 0, 0, 1), extent=(20400, 20400)),
    LinearQuantize((0, 0, 3), (0, 10, 10), extent=(20400, 20400)),
])  # fmt: skip
def test_all_percentiles_of_one_value_are_that_value(kind):
    assert [kind.percentile(percent) for percent in (0, 50, 99, 100)] == [20400] * 4


def test_counts_and_values_that_no_float_has():
    weighted = LinearQuantize((1 << 53, 0, 0, 1), (0, 2, 1), extent=(-9, 7))
    assert (weighted.percentile(0), weighted.percentile(100)) == (-9, 7)
    least, greatest = (1 << 53) + 1, (1 << 53) + 3
    large = Quantize((0,) * 117 + (2,) + (0,) * 9, extent=(least, greatest))
    assert [large.percentile(percent) for percent in (0, 100)] == [least, greatest]
    require_within(large, least, greatest, range(101))


def test_nothing_that_was_counted_has_no_extent():
    for histogram in (("quantize", ()), ("lquantize", (0, 10, 1))):
        spec = described(histogram)
        assert value_of(spec, zero_words(spec)).extent is None
