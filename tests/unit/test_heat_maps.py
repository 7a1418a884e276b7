"""Heat maps: columns made of looks lose no count, rows are the values that D's histograms have, colours are rates."""

from itertools import pairwise
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_flame_graphs import HOSTILE, Page, data_of

from sonde.library.histograms import Quantize
from sonde.library.rich_pictures import HeatMap as LibraryHeatMap
from sonde.model.aggregating import buckets_of, size_of
from sonde.model.records import AggregationSpec, Field
from sonde.pictures.heat import Columns, everything
from sonde.pictures.heat_rows import rows_of
from sonde.pictures.heat_view import nice_step
from sonde.pictures.heatmap import HeatMap, heatmap_data, heatmap_html, heatmap_svg, levels_of
from sonde.visible import visible

SECOND = 10**9
MASK = (1 << 64) - 1


def spec(function="quantize", parameters=(), words=127, keys=()):
    return AggregationSpec("a", function, parameters, keys, 0, words, "agg0", False)


NAMED = spec(keys=(Field("", "string", 0, 16),))


def looks(counts, **limits):
    """A heat of looks one second apart, at which so much more was counted: {key: {bucket: more}} for each."""
    columns = Columns(**limits)
    totals = {}
    columns.look(0, {})
    for second, more in enumerate(counts, 1):
        for key, buckets in more.items():
            words = list(totals.get(key, (0,) * 127))
            for bucket, number in buckets.items():
                words[bucket] = (words[bucket] + number) & MASK
            totals[key] = tuple(words)
        columns.look(second * SECOND, dict(totals))
    return columns.finished()


def test_columns_are_what_came_between_two_looks():
    heat = looks([{("a",): {64: 3}}, {}, {("a",): {64: 2, 70: 1}, ("b",): {0: 5}}])
    assert heat.edges == (0, SECOND, 2 * SECOND, 3 * SECOND)
    assert heat.keys == {("a",): {(0, 64): 3, (2, 64): 2, (2, 70): 1}, ("b",): {(2, 0): 5}}
    assert (heat.total, heat.others, heat.taken_back) == (11, {}, 0)


def test_a_last_column_that_is_short_is_a_part_of_the_one_before():
    columns = Columns()
    for now, number in ((0, 0), (100, 5), (200, 7), (230, 8)):
        columns.look(now, {(): (number,)})
    heat = columns.finished()
    assert (heat.edges, heat.keys) == ((0, 100, 230), {(): {(0, 0): 5, (1, 0): 3}})


@settings(max_examples=40)
@given(
    st.lists(
        st.dictionaries(st.integers(0, 9), st.dictionaries(st.integers(0, 126), st.integers(1, 2**40), max_size=3)),
        min_size=1, max_size=40,
    ),
    st.integers(2, 9), st.integers(1, 4),
)  # fmt: skip
def test_no_count_is_lost_when_columns_or_keys_become_one(counts, most_columns, most_keys):
    heat = looks(counts, most_columns=most_columns, most_keys=most_keys)
    assert len(heat.edges) - 1 <= most_columns
    assert len(heat.keys) <= most_keys
    assert heat.edges[0] == 0
    assert heat.edges[-1] == len(counts) * SECOND
    assert list(heat.edges) == sorted(set(heat.edges))
    # What was counted in a second is in the column that has this second.
    wanted = {}
    for second, more in enumerate(counts):
        column = sum(1 for edge in heat.edges[1:] if edge <= second * SECOND)
        for buckets in more.values():
            for bucket, number in buckets.items():
                wanted[column, bucket] = wanted.get((column, bucket), 0) + number
    assert everything(heat) == wanted


def test_keys_that_count_least_are_added_up():
    counts = [{(name,): {64: number} for name, number in (("a", 1), ("b", 9), ("c", 2), ("d", 8))}]
    heat = looks([*counts, {("a",): {64: 1}}], most_keys=2)
    assert list(heat.keys) == [("b",), ("d",)]
    assert heat.others == {(0, 64): 3, (1, 64): 1}


def test_what_is_taken_back_is_told():
    """quantize() takes negative increments, too."""
    heat = looks([{(): {64: 5}}, {(): {64: -3}}])
    assert (everything(heat), heat.taken_back) == ({(0, 64): 5}, 3)
    assert "3 of negative increments not shown" in heatmap_data(HeatMap(spec(), heat, [""], 0))["subtitle"]


FUNCTIONS = [
    spec(), spec("lquantize", (-10, 90, 7), 16), spec("lquantize", (0, 3, 1), 5), spec("llquantize", (10, 0, 2, 10), 0),
    spec("llquantize", (2, 3, 9, 4), 0), spec("llquantize", (10, 2, 4, 20), 0),
]  # fmt: skip


@pytest.mark.parametrize("aggregation", FUNCTIONS, ids=lambda one: f"{one.function}{one.parameters}")
def test_buckets_are_ranges_without_gaps(aggregation):
    buckets = buckets_of(aggregation)
    assert len(buckets) == size_of(aggregation.function, aggregation.parameters)
    for before, behind in pairwise(buckets):
        assert behind.low == before.high + 1
    for least, greatest, value in buckets:
        # What the report takes for the value of a bucket: one in it, or one beyond the last bound.
        assert least is None or least <= value
        assert greatest is None or value <= greatest


def test_rows_have_the_names_of_their_values():
    rows = rows_of(spec(), {62, 66})
    assert rows.labels == (
        ("-1", "-1"), ("0", "0"), ("1", "1"), ("2", "2 to 3"), ("4", "4 to 7"),
    )  # fmt: skip
    assert rows_of(spec("lquantize", (0, 30, 10), 5), range(5)).labels == (
        ("≤ -1", "-1 and less"), ("0", "0 to 9"), ("10", "10 to 19"), ("20", "20 to 29"), ("≥ 30", "30 and more")
    )  # fmt: skip


def test_many_buckets_share_rows():
    rows = rows_of(spec("lquantize", (0, 1000, 1), 1002), range(1, 1001), most=100)
    assert (len(rows.labels), rows.together, rows.labels[1], rows.labels[-1]) == (
        100, 10, ("10", "10 to 19"), ("990", "990 to 999")
    )  # fmt: skip
    assert [rows.row(bucket) for bucket in (1, 10, 11, 1000)] == [0, 0, 1, 99]
    rows = rows_of(spec("lquantize", (0, 1000, 1), 1002), range(1002), most=100)
    assert (rows.labels[0][1], rows.labels[-1][1]) == ("9 and less", "1,000 and more")


def test_colours_are_roots_of_rates():
    """A column twice as long with twice as many is as dark."""
    edges = (0, 100, 300)
    assert levels_of({(0, 0): 81, (1, 0): 162, (0, 1): 20, (0, 2): 1, (1, 2): 36}, edges) == {
        (0, 0): 9, (1, 0): 9, (0, 1): 5, (0, 2): 1, (1, 2): 5
    }  # fmt: skip


def test_a_picture_has_all_keys_then_each():
    heat = looks([{("b",): {64: 1}, ("a",): {64: 4}}, {("a",): {66: 5}}])
    data = heatmap_data(HeatMap(NAMED, heat, ["a", "b"], 0))
    assert data["title"] == "Heat map of @a"
    assert data["rows"] == [["1", "1"], ["2", "2 to 3"], ["4", "4 to 7"]]
    assert data["series"] == [
        ["all", [0, 0, 5, 9, 1, 2, 5, 9]], ["a", [0, 0, 4, 9, 1, 2, 5, 9]], ["b", [0, 0, 1, 9]]
    ]  # fmt: skip
    nothing = heatmap_data(HeatMap(spec(), looks([{}]), [], 0))
    assert nothing["subtitle"].endswith("nothing was counted")
    assert nothing["rows"] == [["0", "0"]]


@pytest.mark.parametrize(("is_whole", "counted"), [(True, "5 values"), (False, "2 values")])
def test_what_was_counted_before_the_first_look_is_in_a_whole_map(is_whole, counted):
    """A command in a notebook's cell may have done all that it does before the first look."""
    words = [0] * 127
    words[64] = 3
    rows = {(): Quantize(tuple(words))}
    looked = SimpleNamespace(spec=spec(), snapshot=lambda: rows)
    heat = LibraryHeatMap(looked, is_whole=is_whole)
    heat.look()
    words[66] = 2
    rows[()] = Quantize(tuple(words))
    heat.look()
    assert heat.columns == 2
    assert counted in heat.picture().html


def test_hostile_keys_are_data():
    names = [visible(name) for name in HOSTILE]
    heat = looks([{(name,): {64: 1} for name in names}])
    drawn = HeatMap(NAMED, heat, list(names), 0)
    assert [name for name, _ in data_of(*Page(heatmap_html(drawn)).scripts[0])["series"]][1:] == names
    root = ElementTree.fromstring(heatmap_svg(drawn))
    assert [name for name, _ in data_of(root[3].attrib, root[3].text)["series"]][1:] == names
    assert len(Page(heatmap_html(drawn)).scripts) == 2


@pytest.mark.parametrize(
    ("least", "step"), [(0.03, 0.05), (0.1, 0.1), (0.11, 0.2), (7, 10), (3601, 5000), (1e-9, 1e-9)]
)
def test_steps_of_the_time_axis_are_round(least, step):
    assert nice_step(least) == pytest.approx(step)
