"""Values of the library: numbers and histograms of aggregations, stacks, printed objects."""

import itertools
import pickle
import statistics
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde.library.aggregations import VALUES
from sonde.library.arrow_values import array_of, object_type
from sonde.library.data.json_values import json_value
from sonde.library.events import statement_names
from sonde.library.histograms import LinearQuantize, LogLinearQuantize, Quantize
from sonde.library.objects import object_value
from sonde.library.scalars import Average, Count, Deviation, Maximum, Minimum, Sum
from sonde.model.aggregating import FUNCTIONS, HISTOGRAMS, function_of, number_of
from sonde.model.aggregation_words import MASK, counts
from sonde.model.records import AggregationSpec, MemberSpec, TypeSpec
from sonde.report.typed_object import object_text
from sonde.report.value import value_text

_SMALL = st.integers(-(10**6), 10**6)
_LIST = st.lists(_SMALL, min_size=1, max_size=30)
_MIN = -(1 << 63)


def words_of(function, values):
    """The words that programs make of these values (model/aggregating.py)."""
    total, squares = sum(values) & MASK, sum(value * value for value in values)
    return {
        "count": (len(values),),
        "sum": (total,),
        "avg": (len(values), total),
        "stddev": (len(values), total, squares & MASK, squares >> 64),
        "min": (len(values), (1 << 63) - 1 - min(values)),
        "max": (len(values), max(values) - _MIN),
    }[function]


TRUTH = {
    "count": len, "sum": sum, "avg": statistics.fmean, "stddev": statistics.pstdev, "min": min, "max": max,
}  # fmt: skip


def test_each_function_that_comes_to_a_number_is_computed_here():
    assert set(TRUTH) == FUNCTIONS.keys() - set(HISTOGRAMS)


@pytest.mark.share(1)
@given(_LIST)
@pytest.mark.parametrize("function", sorted(TRUTH))
def test_numbers_are_those_of_the_values(function, values):
    found = VALUES[function](words_of(function, values))
    assert float(found) == pytest.approx(TRUTH[function](values), abs=1e-6, rel=1e-9)
    assert int(found) == number_of(function, found.words)


@pytest.mark.share(1)
@given(_LIST, _LIST)
@pytest.mark.parametrize("function", sorted(TRUTH))
def test_merged_values_are_those_of_all(function, left, right):
    kind = VALUES[function]
    merged = kind(words_of(function, left)).merge(kind(words_of(function, right)))
    assert merged.words == kind(words_of(function, left + right)).words


@given(_SMALL, _SMALL)
def test_a_number_is_one_in_arithmetic(left, right):
    one, other = Sum((left & MASK,)), Sum((right & MASK,))
    assert (one + other, one - right, left - other, one * other) == (
        left + right,
        left - right,
        left - right,
        left * right,
    )
    assert (one < other, one == other, one >= right) == (left < right, left == right, left >= right)
    assert (-one, abs(one), hash(one), f"{one:x}") == (-left, abs(left), hash(left), f"{left:x}")
    if right:
        assert (one / other, one // right, left % other) == (left / right, left // right, left % right)


def test_a_normalized_value_is_divided():
    assert Count((100,), 10) == 10
    assert Average((4, 100), 5) == 5
    assert Maximum((1, 70 - _MIN), 7) == 10
    with pytest.raises(ValueError, match="normalized"):
        Count((1,), 2).merge(Count((1,)))


def test_values_of_two_functions_do_not_merge():
    with pytest.raises(TypeError):
        Count((1,)).merge(Sum((1,)))
    with pytest.raises(TypeError):
        Quantize((0,) * 127).merge(LinearQuantize((0, 0, 0), (0, 1, 1)))
    with pytest.raises(ValueError, match="parameters"):
        LinearQuantize((0, 0, 0), (0, 1, 1)).merge(LinearQuantize((0, 0, 0), (1, 2, 1)))


def test_nothing_counted_is_zero():
    assert [Minimum((0, 0)), Maximum((0, 0)), Average((0, 0)), Deviation((0, 0, 0, 0))] == [0, 0, 0, 0]


def empty(function, parameters):
    """A histogram of nothing, and its bounds."""
    kind = VALUES[function]
    bounds = kind((), parameters).bounds()
    return kind((0,) * len(bounds), parameters), bounds


def is_within(value, bounds):
    low, high = bounds
    return (low is None or low <= value) and (high is None or value <= high)


PARAMETERS = st.one_of(
    st.just(("quantize", ())),
    st.tuples(st.integers(-50, 50), st.integers(1, 40), st.integers(1, 9)).map(
        lambda each: ("lquantize", (each[0], each[0] + each[1] * each[2], each[2]))
    ),
    st.tuples(st.integers(2, 10), st.integers(0, 3), st.integers(0, 3), st.integers(1, 3)).map(
        lambda each: ("llquantize", (each[0], each[1], each[1] + each[2], each[0] * each[3]))
    ),
)


@given(PARAMETERS, st.lists(st.integers(-(10**9), 10**9), max_size=40), st.sampled_from([0, 10, 50, 90, 99.9, 100]))
def test_buckets_hold_their_values(kind, values, percent):
    """Buckets are without gaps or overlaps, and a percentile lies in the bucket of the value that it is of."""
    histogram, bounds = empty(*kind)
    for (_, high), (low, _) in itertools.pairwise(bounds):
        assert high + 1 == low
    words = [0] * len(bounds)
    for value in values:
        (place,) = [
            place
            for place, (low, high) in enumerate(bounds)
            if (low is None or low <= value) and (high is None or value <= high)
        ]
        words[place] += 1
    histogram = type(histogram)(tuple(words), histogram.parameters)
    assert histogram.total == len(values)
    assert sum(each.count for each in histogram.buckets) == len(values)
    assert [each.count for each in histogram.buckets if each.count] == [each for each in counts(tuple(words)) if each]
    assert (histogram + histogram) - histogram == histogram
    if values:
        ordered = sorted(values)
        wanted = ordered[min(int(len(values) * percent / 100), len(values) - 1)]
        lower = ordered[max(int(len(values) * percent / 100) - 1, 0)]
        found = histogram.percentile(percent)
        assert any(
            is_within(value, (low, high)) and (low is None or found >= low - 1) and (high is None or found <= high + 1)
            for low, high in bounds for value in (wanted, lower)
        )  # fmt: skip


def test_percentiles_that_there_are_not():
    histogram, _ = empty("quantize", ())
    for percent in (-1, 101):
        with pytest.raises(ValueError, match="percentage"):
            histogram.percentile(percent)
    with pytest.raises(ValueError, match="no percentile"):
        histogram.percentile(50)


def test_llquantize_has_the_bounds_of_its_function():
    bounds = LogLinearQuantize((), (10, 0, 1, 10)).bounds()
    assert (9, 9) in bounds
    assert (10, 19) in bounds
    assert bounds[-1] == (100, None)


def test_a_record_gives_its_values_by_place_and_name():
    name = sonde.ProbeName("syscall", "vmlinux", "read", "entry")
    record = tuple.__new__(sonde.Record, (name, 12, 1, (7, "x"), statement_names(("arg0", ""), (1, 0))))
    assert (record[0], record["arg0"], record[-1], len(record), list(record)) == (7, 7, "x", 2, [7, "x"])
    assert (record.probe.function, record.time, record.cpu) == ("read", 12, 1)
    assert record.asdict() == {"arg0": 7, "1": "x"}
    assert pickle.loads(pickle.dumps(record)) == record
    assert "arg0=7" in repr(record)
    with pytest.raises(KeyError, match="arg0"):
        record["arg1"]


def test_printed_objects_are_values():
    members = MemberSpec("x", 1, 0), MemberSpec("bits", 1, 35, 3), MemberSpec("name", 2, 64)
    types = [
        TypeSpec("struct", "struct point", 16, members=members),
        TypeSpec("integer", "int", 4, signed=True),
        TypeSpec("array", "char[8]", 8, element=3),
        TypeSpec("char", "char", 1, signed=True),
    ]
    data = struct.pack("<iI8s", -5, 0b101 << 3, b"origin\0z")
    assert object_value(types, 0, data) == {"x": -5, "bits": -3, "name": "origin"}
    assert object_value(types, 0, data[:4]) == {"x": -5, "bits": None, "name": None}


@given(st.sampled_from([1, 2, 4, 8]), st.booleans(), st.data())
def test_bits_end_where_their_object_does(size, signed, data):
    """A bit-field needs no whole number of its type in its object: text and values have it all the same."""
    bits = data.draw(st.integers(1, 8 * size))
    offset = data.draw(st.integers(0, 64))
    value = data.draw(st.integers(*((-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1))))
    length = (offset + bits + 7) // 8
    memory = ((value & (1 << bits) - 1) << offset).to_bytes(length, "little")
    types = (
        TypeSpec("struct", "struct s", length, members=(MemberSpec("bits", 1, offset, bits),)),
        TypeSpec("integer", "long", size, signed),
    )
    assert object_value(types, 0, memory) == {"bits": value}
    assert value_text(types, 0, memory) == b"{.bits = %d}" % value
    assert (b".bits = (long)%d" % value in object_text(types, 0, memory, None, length)) == bool(value)


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("kind", "data", "value"),
    [
        ("float", struct.pack("<f", 1.5), 1.5),
        ("float", struct.pack("<d", -2.25), -2.25),
        ("float", struct.pack("<e", 0.5), 0.5),
        ("float", struct.pack("<QH6x", 3 << 62, 16384), 3.0),
        ("quad", (16384 << 112 | 1 << 111).to_bytes(16, "little"), 3.0),
        ("bfloat", b"\xc0\x3f", 1.5),
        ("complex", struct.pack("<ff", 1.5, -0.5), 1.5 - 0.5j),
        ("complex", struct.pack("<dd", 2.5, 0.25), 2.5 + 0.25j),
    ],
)
def test_floating_point_numbers_are_numbers(kind, data, value):
    """In lines of JSON and in tables, too."""
    types = (TypeSpec(kind, "x", len(data)),)
    assert object_value(types, 0, data) == value
    both = {"real": value.real, "imaginary": value.imag}
    assert json_value(value) == (both if kind == "complex" else value)
    (found,) = array_of([value], object_type(types, 0, types[0].size)).to_pylist()
    assert found == (both if kind == "complex" else value)


def test_stacks_are_sequences():
    frames = [sonde.Frame(16, "read", "/lib/libc.so.6", 4), sonde.Frame(32)]
    stack = sonde.Stack(frames, 7)
    assert stack == sonde.Stack(frames, 7)
    assert stack != sonde.Stack(frames, 8)
    assert [str(each) for each in stack] == ["libc.so.6`read+0x4", "0x20"]
    assert stack[1:] == sonde.Stack(frames[1:], 7)
    assert len({stack, sonde.Stack(frames, 7)}) == 1


def test_values_of_unsigned_numbers_are_unsigned():
    most = (1 << 64) - 1
    found = [Sum((most,), 1, True), Maximum((2, most), 1, True), Minimum((1, 0), 1, True), Average((1, most), 1, True)]
    assert [int(each) for each in found] == [most] * 4
    assert Sum((most,)) == Average((1, most)) == -1
    assert Maximum((1, 7), 1, True).merge(Maximum((1, most), 1, True)) == most
    assert Minimum((1, 0), 1, True).merge(Minimum((1, most - 7), 1, True)) == 7
    with pytest.raises(ValueError, match="signed and of unsigned"):
        Sum((1,), 1, True).merge(Sum((1,)))


@pytest.mark.parametrize("name", ["sum", "avg", "min", "max"])
def test_nothing_of_unsigned_numbers_is_zero(name):
    size = FUNCTIONS[name].size()
    assert number_of(name, (0,) * size, 1, True) == 0
    drawn = function_of(AggregationSpec("", name, (), (), 0, size, "", False, is_unsigned=True)).drawn
    assert drawn.number((0,) * size) == 0
