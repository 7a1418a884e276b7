"""The charts of quantize, lquantize and llquantize, column by column."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.frontends.d.report.histogram import histogram
from sonde.model.aggregating import FUNCTIONS
from sonde.model.aggregation_words import MASK
from sonde.model.buckets import llquantize_values
from sonde.model.records import AggregationSpec

HEADING = "           value  ------------- Distribution ------------- count    "


def spec(function, *parameters, words=127):
    return AggregationSpec("a", function, parameters, (), 4, words, "map", False)


def chart(one, counts, factor=1):
    words = [counts.get(place, 0) & MASK for place in range(one.words)]
    lines = histogram(one, words, factor).decode().split("\n")
    assert lines[0] == ""
    assert lines[1] == HEADING
    assert lines[-1] == ""
    return lines[2:-1]


def row(label, bar, count):
    return f"{label:>16} {bar} {count:<9}"


def test_quantize_shows_one_bucket_more_on_each_side():
    rows = chart(spec("quantize"), {64: 1, 66: 3})
    assert rows == [
        row(0, "|" + " " * 40, 0), row(1, "|" + "@" * 10 + " " * 30, 1), row(2, "|" + " " * 40, 0),
        row(4, "|" + "@" * 30 + " " * 10, 3), row(8, "|" + " " * 40, 0),
    ]  # fmt: skip


def test_bars_are_rounded():
    rows = chart(spec("lquantize", 0, 4, 1, words=6), {1: 2, 2: 6, 3: 19})
    assert [line.count("@") for line in rows] == [0, 3, 9, 28, 0]
    assert rows[0].startswith("             < 0 |")


def test_negative_counts_grow_to_the_left():
    rows = chart(spec("quantize"), {64: -123})
    assert rows[1] == row(1, "@" * 40 + "|", -123)
    assert rows[0] == row(0, " " * 40 + "|", 0)


def test_counts_of_both_signs_share_the_width():
    rows = chart(spec("quantize"), {62: -123, 63: -123, 64: 246})
    assert rows == [
        row(-2, " " * 20 + "|" + " " * 20, 0), row(-1, " " * 15 + "@@@@@|" + " " * 20, -123),
        row(0, " " * 15 + "@@@@@|" + " " * 20, -123), row(1, " " * 20 + "|" + "@" * 10 + " " * 10, 246),
        row(2, " " * 20 + "|" + " " * 20, 0),
    ]  # fmt: skip


def test_empty_charts_show_three_buckets():
    assert [line.split()[0] for line in chart(spec("quantize"), {})] == ["-1", "0", "1"]
    lquantize = spec("lquantize", -10, 10, 1, words=22)
    assert [line[:16].strip() for line in chart(lquantize, {})] == ["< -10", "-10", "-9"]
    # Of llquantize none below zero, as DTrace begins one bucket above it.
    assert labels(llquantize(10, 0, 2, 10)) == ["0", "1", "2"]
    assert labels(llquantize(10, 0, 2, 20)) == ["0", "1", "2"]
    assert labels(llquantize(10, 2, 3, 10)) == ["< 100", "100", "200"]
    assert labels(llquantize(2, 0, 0, 2)) == ["0", "1", ">= 2"]


def test_the_ends_of_quantize():
    assert chart(spec("quantize"), {0: 1})[0].startswith("-4611686018427387904 |@")
    assert chart(spec("quantize"), {126: 1})[-1].startswith("4611686018427387904 |@")


def test_lquantize_beyond_the_limit():
    rows = chart(spec("lquantize", -10, 10, 1, words=22), {21: 150})
    assert [line[:16].strip() for line in rows] == ["9", ">= 10"]


def test_normalized_counts_keep_their_bars():
    rows = chart(spec("quantize"), {64: 10, 65: 10}, 5)
    assert rows[1] == row(1, "|" + "@" * 20 + " " * 20, 2)


def llquantize(*parameters):
    return spec("llquantize", *parameters, words=2 * len(llquantize_values(*parameters)) + 3)


def labels(one, *places):
    return [line[:16].strip() for line in chart(one, dict.fromkeys(places, 1))]


def test_llquantize_labels():
    normal = llquantize(2, 0, 1, 2)
    assert normal.words == 7
    assert labels(normal, 0, 6) == ["<= -4", "-2", "-1", "0", "1", "2", ">= 4"]
    assert labels(llquantize(2, 0, 1, 4), 0, 8) == ["<= -4", "-3", "-2", "-1", "0", "1", "2", "3", ">= 4"]


def test_llquantize_middle_without_small_values():
    one = llquantize(10, 1, 2, 10)
    zero = one.words // 2
    assert labels(one, zero - 1, zero) == ["-20", "-10", "abs() < 10", "10"]
    assert labels(one, zero + 1) == ["< 10", "10", "20"]


def test_llquantize_steps_below_the_factor():
    assert llquantize_values(10, 2, 2, 5) == [100, 200, 400, 600, 800]
    assert llquantize_values(10, 0, 1, 20) == [*range(1, 10), *range(10, 100, 5)]


@given(st.integers(2, 20), st.integers(0, 3), st.integers(0, 3), st.integers(1, 4))
def test_llquantize_bounds_ascend(factor, low, more, multiple):
    bounds = llquantize_values(factor, low, low + more, factor * multiple)
    assert bounds == sorted(set(bounds))
    assert bounds[0] == factor**low
    assert bounds[-1] < factor ** (low + more + 1)
    assert all(factor**magnitude in bounds for magnitude in range(low, low + more + 1))


@given(st.dictionaries(st.integers(0, 126), st.integers(-(1 << 63), (1 << 63) - 1), max_size=6))
def test_every_row_has_the_same_width_up_to_the_count(counts):
    for line in chart(spec("quantize"), counts):
        label, _, _ = line.lstrip().partition(" ")
        width = max(len(label), 16) + 1 + 41 + 1
        assert line[width - 1] == " "
        assert int(line[width:]) in {0, *counts.values()}


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("quantize", ()), *(("quantize", (bits,)) for bits in range(1, 6)),
        ("lquantize", (-3, 20, 7)), ("lquantize", (0, 1, 1)), ("llquantize", (10, 0, 3, 20)),
        ("llquantize", (2, 0, 10, 2)), ("llquantize", (10, 1, 2, 5)),
    ],
)  # fmt: skip
def test_each_number_is_in_one_bucket(name, parameters):
    """Of 64 bits with a sign: nothing lies below the first, above the last, or between two."""
    buckets = FUNCTIONS[name].buckets(*parameters)
    assert buckets[0].low in (None, -1 << 63)
    assert buckets[-1].high in (None, (1 << 63) - 1)
    assert [each.low for each in buckets[1:]] == [each.high + 1 for each in buckets[:-1]]
