"""Aggregations: whatever is printed, cleared, truncated and counted meanwhile, nothing is lost or counted twice."""

import math
import struct
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.files.records import PROBES, FakeTracing, integer, record

from sonde.consume.consumer import Consumer
from sonde.consume.options import Options
from sonde.model.aggregating import FUNCTIONS, element_size, extent_of, number_of
from sonde.model.records import (
    AggregationSpec,
    ClearAction,
    Field,
    NormalizeAction,
    PrintaAction,
    RecordLayout,
    TruncAction,
)
from sonde.model.spec import TracingSpec

CPUS = 2
MASK = (1 << 64) - 1
INT64_MAX = (1 << 63) - 1
WORDS = {"count": 1, "sum": 1, "avg": 2, "stddev": 4, "min": 2, "max": 2, "lquantize": 12}
PARAMETERS = {"lquantize": (0, 10, 1)}
CLEAR, TRUNC, KEEP, PRINT = 1, 2, 3, 4


def update(function, words, value):
    """What a program does to the words of one CPU."""
    words = list(words)
    match function:
        case "count":
            words[0] += 1
        case "sum":
            words[0] += value
        case "avg" | "stddev":
            words[0] += 1
            words[1] += value
            if function == "stddev":
                squares = (words[2] | words[3] << 64) + value * value
                words[2:] = squares, squares >> 64
        case "min":
            words = [words[0] + 1, max(words[1], INT64_MAX - value)]
        case "max":
            words = [words[0] + 1, max(words[1], value + INT64_MAX + 1)]
        case "lquantize":
            words[max(0, min(value + 1, 11))] += 1
    return [word & MASK for word in words]


def test_each_way_in_which_values_become_one_is_played_here():
    """Functions with the arithmetic of another one are cleared as that is."""
    assert {FUNCTIONS[name].merging for name in WORDS} == {each.merging for each in FUNCTIONS.values()}


class Live(FakeTracing):
    """Maps that programs go on updating: `late` runs right after each reading."""

    def __init__(self, spec):
        super().__init__()
        self.spec = spec
        self.width = element_size(spec.function, spec.parameters, len(spec.keys), spec.has_extent)
        self.late = []
        self.readings = 0
        if not spec.keys:
            self.maps["map"] = {bytes(4): bytes(8 * self.width * CPUS)}

    def count(self, key, cpu, value):
        raw = struct.pack("<q", key) if self.spec.keys else bytes(4)
        elements = self.maps.setdefault("map", {})
        words = list(struct.unpack(f"<{self.width * CPUS}Q", elements.get(raw, bytes(8 * self.width * CPUS))))
        start = cpu * self.width
        mine = slice(start, start + self.spec.words)
        words[mine] = update(self.spec.function, words[mine], value)
        if self.width > self.spec.words + 2 * self.spec.has_extent:
            words[start + self.spec.words] = 1
        if self.spec.has_extent:
            end = start + self.width
            words[end - 2 : end] = max(words[end - 2], INT64_MAX - value), max(words[end - 1], value + INT64_MAX + 1)
        elements[raw] = struct.pack(f"<{len(words)}Q", *words)

    def _after_reading(self, name, contents):
        if name == "map":
            self.readings += 1
            for event in self.late:
                self.count(*event)
        return contents

    def read_map(self, name):
        return self._after_reading(name, super().read_map(name))

    def replace_map(self, name):
        contents = super().replace_map(name)
        if not self.spec.keys:
            self.maps[name] = {bytes(4): bytes(8 * self.width * CPUS)}
        return self._after_reading(name, contents)


class Tables:
    """A sink that keeps the tables."""

    def __init__(self):
        self.tables = []

    def table(self, table, conversions):
        self.tables.append(table)

    def remaining(self, tables):
        self.tables += tables

    def begin(self, record):
        pass

    end = begin

    def run(self, layout, data, stride):
        pass

    def flush(self):
        pass


class Model(NamedTuple):
    """What should be seen: for each visible key the values counted since it was cleared."""

    values: dict[int, list[int]]

    def count(self, key, value):
        self.values.setdefault(key, []).append(value)


def evaluate(function, values):
    """The result of an aggregating function, straight from its definition."""
    if function == "lquantize":
        counts = [0] * 12
        for value in values:
            counts[max(0, min(value + 1, 11))] += 1
        return counts
    if not values:
        return 0
    match function:
        case "count":
            return len(values)
        case "sum":
            return sum(values)
        case "avg":
            return abs(sum(values)) // len(values) * (1 if sum(values) >= 0 else -1)
        case "stddev":
            average = abs(sum(values)) // len(values)
            return math.isqrt(sum(value * value for value in values) // len(values) - average**2)
        case "min":
            return min(values)
        case "max":
            return max(values)


def shown(table):
    function = table.aggregations[0].function
    return {
        row.key[0] if row.key else 0: list(words[:12]) if function == "lquantize" else number_of(function, words)
        for row in table.rows
        for words in row.words
    }


def extents(table):
    (spec,) = table.aggregations
    return {row.key[0] if row.key else 0: extent_of(spec, row.words[0]) for row in table.rows}


def session(function, keyed, replaceable, kept_as=lambda number, key: key, has_extent=False):
    keys = (Field(0, 8, "int", True),) if keyed else ()
    spec = AggregationSpec(
        "a", function, PARAMETERS.get(function, ()), keys, 8 if keyed else 4, WORDS[function], "map", replaceable,
        has_extent=has_extent,
    )  # fmt: skip
    printa = PrintaAction(None, (0,))
    layouts = (
        RecordLayout(CLEAR, 16, (printa, ClearAction(0))),
        RecordLayout(TRUNC, 16, (printa, TruncAction(0, None))),
        RecordLayout(KEEP, 24, (printa, TruncAction(0, integer(16)))),
        RecordLayout(PRINT, 16, (printa,)),
    )
    tracing, sink = Live(spec), Tables()
    tracing_spec = TracingSpec((), (), layouts, (spec,), (), PROBES)
    return tracing, sink, Consumer(tracing_spec, tracing, sink, Options(), lambda name, value: None, kept_as=kept_as)


def seen(consumer, tracing, function):
    """All that has been counted, as a watcher sees it."""
    found = consumer.everything(0, tracing.maps.get("map", {}).items())
    return {
        key[0] if key else 0: list(words[:12]) if function == "lquantize" else number_of(function, words)
        for key, words in found.items()
    }


def measure(function, values):
    if function != "lquantize":
        return evaluate(function, values), 0
    # What is beyond the range counts for one more, or less, than its bound.
    return sum(11 if value >= 10 else max(-1, value) for value in values), sum(value == 0 for value in values)


def apply(model, function, clause, keep):
    """What the record does after its printa."""
    if clause == CLEAR:
        for values in model.values.values():
            values.clear()
    elif clause in (TRUNC, KEEP):
        keep = keep if clause == KEEP else 0
        order = sorted(model.values, key=lambda key: (*measure(function, model.values[key]), key & MASK))
        kept = order[-keep:] if keep > 0 else order[:-keep] if keep else []
        for key in set(order) - set(kept):
            del model.values[key]


events = st.tuples(st.integers(0, 3), st.integers(0, CPUS - 1), st.integers(1, 12))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("count"), events),
        st.tuples(st.sampled_from([CLEAR, TRUNC, KEEP, PRINT]), st.integers(-3, 3), st.lists(events, max_size=2)),
    ),
    max_size=25,
)


def play(function, keyed, replaceable, plan, racing=True, has_extent=False):
    """Returns pairs of extents: those that a table had, and those of all that was counted since the map was new."""
    tracing, sink, consumer = session(function, keyed, replaceable, has_extent=has_extent)
    pairs = []
    model, whole = Model({}), Model({})
    for step in plan:
        if step[0] == "count":
            key, cpu, value = step[1]
            tracing.count(key, cpu, value)
            model.count(key if keyed else 0, value)
            whole.count(key if keyed else 0, value)
            continue
        clause, keep, late = step
        tracing.late = late if racing else []
        tracing.readings = 0
        tracing.feed(record(clause, struct.pack("<q", keep) if clause == KEEP else b""))
        consumer.poll()
        assert tracing.readings == 1
        table = sink.tables.pop()
        assert shown(table) == {key: evaluate(function, values) for key, values in model.values.items()}
        since = model if replaceable else whole
        pairs.append((extents(table), {key: extremes(since.values[key]) for key in model.values}))
        apply(model, function, clause, keep)
        for key, _, value in tracing.late:
            model.count(key if keyed else 0, value)
            whole.count(key if keyed else 0, value)
        tracing.late = []
        # Whatever was cleared.
        counted = {key: evaluate(function, values) for key, values in whole.values.items()}
        assert seen(consumer, tracing, function) == counted
    # What is left shows in a last printa, whether or not it was printed before.
    tracing.feed(record(PRINT))
    consumer.finish()
    assert shown(sink.tables[0]) == {key: evaluate(function, values) for key, values in model.values.items()}
    return pairs


def extremes(values):
    return (min(values), max(values)) if values else None


def test_what_was_removed_is_kept_as_a_watcher_tells_keys_apart():
    tracing, _, consumer = session("count", True, True, kept_as=lambda number, key: (key[0] % 3,))
    for key in range(900):
        tracing.count(key, 0, 1)
        if key % 7 == 0:
            tracing.feed(record(TRUNC))
            consumer.poll()
    found = consumer.everything(0, tracing.maps.get("map", {}).items())
    assert sum(words[0] for words in found.values()) == 900
    assert len(found) < 12


@pytest.mark.share(1)
@settings(max_examples=60)
@pytest.mark.parametrize("replaceable", [True, False])
@pytest.mark.parametrize("function", ["count", "sum", "avg", "stddev", "lquantize"])
@given(plan=steps)
def test_printed_and_remaining_are_all_there_was(function, replaceable, plan):
    play(function, True, replaceable, plan)


@pytest.mark.share(1)
@settings(max_examples=60)
@pytest.mark.parametrize("function", ["min", "max"])
@given(plan=steps)
def test_extremes_since_the_last_clear(function, plan):
    play(function, True, True, plan)


@pytest.mark.share(1)
@settings(max_examples=60)
@pytest.mark.parametrize("function", ["min", "max"])
@given(plan=steps)
def test_extremes_in_a_map_that_cannot_be_replaced(function, plan):
    play(function, True, False, plan, racing=False)


@pytest.mark.share(1)
@settings(max_examples=40)
@pytest.mark.parametrize("replaceable", [True, False])
@pytest.mark.parametrize("function", ["count", "sum", "avg", "stddev", "lquantize"])
@given(plan=steps)
def test_aggregations_without_a_key(function, replaceable, plan):
    play(function, False, replaceable, plan)


@pytest.mark.share(1)
@settings(max_examples=40)
@pytest.mark.parametrize("replaceable", [True, False])
@pytest.mark.parametrize("keyed", [True, False])
@given(plan=steps)
def test_extents_are_of_the_values_since_the_map_was_new(keyed, replaceable, plan):
    """A map that is replaced is new after each clear and trunc."""
    for found, wanted in play("lquantize", keyed, replaceable, plan, has_extent=True):
        assert found == wanted


def test_what_was_taken_back_is_nothing_though_it_has_an_extent():
    tracing, _, consumer = session("lquantize", True, False, has_extent=True)
    tracing.count(0, 0, 5)
    ((key, value),) = tracing.maps["map"].items()
    taken_back = struct.pack("<28Q", *[word if place % 14 > 11 else 0 for place, (word,) in each(value)])
    assert seen(consumer, tracing, "lquantize")
    tracing.maps["map"] = {key: taken_back}
    assert not seen(consumer, tracing, "lquantize")


def each(value):
    return enumerate(struct.iter_unpack("<Q", value))


def test_values_wrap_at_64_bits():
    tracing, sink, consumer = session("sum", True, False)
    tracing.count(0, 0, INT64_MAX)
    tracing.feed(record(CLEAR))
    consumer.poll()
    tracing.count(0, 1, INT64_MAX)
    tracing.count(0, 1, 2)
    tracing.feed(record(PRINT))
    consumer.poll()
    assert [shown(table) for table in sink.tables] == [{0: INT64_MAX}, {0: -INT64_MAX}]


def test_untouched_aggregation_without_a_key_has_no_row():
    tracing, sink, consumer = session("count", False, False)
    tracing.feed(record(PRINT))
    consumer.poll()
    assert sink.tables[0].rows == []


def test_strings_that_decode_alike_are_one_key():
    keys = (Field(0, 8, "string"),)
    spec = AggregationSpec("a", "count", (), keys, 8, 1, "map", False)
    tracing, sink = Live(spec), Tables()
    layouts = (RecordLayout(1, 16, (PrintaAction(None, (0,)),)),)
    consumer = Consumer(
        TracingSpec((), (), layouts, (spec,), (), PROBES), tracing, sink, Options(), lambda name, value: None
    )
    tracing.maps["map"] = {b"ab\0xxxxx": struct.pack("<QQ", 1, 2), b"ab\0yyyyy": struct.pack("<QQ", 4, 8)}
    tracing.feed(record(1))
    consumer.poll()
    assert [(row.key, row.words) for row in sink.tables[0].rows] == [((b"ab",), ((15,),))]


def test_normalization_divides_towards_zero():
    assert number_of("sum", (-7 & MASK,), 2) == -3
    assert number_of("avg", (2, -9 & MASK), 1) == -4
    assert number_of("stddev", (2, 30, 100 + 400, 0), 1) == 5
    assert number_of("min", (1, INT64_MAX - 10), 3) == 3
    assert number_of("max", (0, 0)) == 0


def test_squares_beyond_64_bits():
    values = [0x100000000, 0x200000000]
    words = [0, 0, 0, 0]
    for value in values:
        words = update("stddev", words, value)
    assert words[3] > 0
    assert number_of("stddev", tuple(words)) == 0x80000000


def test_normalize_and_denormalize():
    spec = AggregationSpec("a", "sum", (), (), 4, 1, "map", False)
    printa = PrintaAction(None, (0,))
    layouts = (
        RecordLayout(1, 24, (NormalizeAction(0, integer(16)), printa)),
        RecordLayout(2, 16, (NormalizeAction(0, None), printa)),
    )
    tracing, sink = Live(spec), Tables()
    consumer = Consumer(
        TracingSpec((), (), layouts, (spec,), (), PROBES), tracing, sink, Options(), lambda name, value: None
    )
    tracing.count(0, 0, 100)
    tracing.feed(record(1, struct.pack("<q", 5)), record(2))
    consumer.poll()
    assert [table.factors for table in sink.tables] == [(5,), (1,)]
