"""The extent of a histogram, which the consumer has behind its counts, shows in no text and no picture."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.d.histograms import HISTOGRAMS

from sonde.consume.events import ShownMap, Table, TableRow
from sonde.consume.options import Options
from sonde.consume.order import sort_rows
from sonde.frontends.bpftrace.report.histograms import bars
from sonde.frontends.bpftrace.report.maps import ordered_rows
from sonde.frontends.d.report.aggregate import AggregateText
from sonde.library.aggregations import rows_of
from sonde.library.data.json_values import json_value
from sonde.library.values import Values
from sonde.model.aggregating import size_of
from sonde.model.aggregation_words import MASK
from sonde.model.records import AggregationSpec, Field
from sonde.pictures.album import Album
from sonde.pictures.frames import KeyFrames
from sonde.pictures.profiles import profile_of
from sonde.pictures.requests import HEATMAP, PictureTask
from sonde.report.escaping import escaping_for
from sonde.report.stack import Addresses
from sonde.report.symbolizer import NoNames

KEYS = (Field(0, 8, "int"),)


def text(table, **switches):
    options = Options()
    for name, value in switches.items():
        setattr(options, name, value)
    rows = [(row.key, row) for row in table.rows]
    sort_rows(rows, table.aggregations, options)
    shown = AggregateText(Addresses(NoNames(), options), options)
    sorted_table = table._replace(rows=[row for _, row in rows])
    return [*shown.format(sorted_table, None, escaping_for(False, False, False))]


def of_bpftrace(table):
    rows = ordered_rows(ShownMap(table))
    linear = table.aggregations[0].function == "lquantize"
    return [(key, bars(table.aggregations[0], words, linear)) for key, words in rows]


def values_of(table):
    return {row.key: row.words[0] for row in table.rows}


def profile(table):
    return profile_of(table.aggregations[0], values_of(table), KeyFrames(NoNames(), Options()))


class Sight:
    """What an album looks at."""

    def __init__(self, values):
        self._looks = [{}, values]

    def everything(self, aggregation):
        return self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]


def heat(table):
    task = PictureTask(HEATMAP, "", (0,))
    album = Album([task], table.aggregations, NoNames(), Options(), "", rate=0)
    album.begin(Sight(values_of(table)))
    album.poll()
    album.finish()
    made, _ = album._heats[0]
    assert made.total
    return made.keys


def library(table):
    return {key: json_value(value) for key, (value,) in rows_of(table, Values(NoNames())).items()}


SHOWN = {
    "text": text, "packed": lambda table: text(table, aggpack=True), "zoomed": lambda table: text(table, aggzoom=True),
    "bpftrace": of_bpftrace, "profile": profile, "heat map": heat, "library": library,
}  # fmt: skip


@pytest.mark.parametrize("way", SHOWN)
@given(HISTOGRAMS, st.data())
def test_what_is_shown_is_the_same_with_and_without_an_extent(way, histogram, data):
    name, parameters = histogram
    size = size_of(name, parameters)
    spec = AggregationSpec("a", name, parameters, KEYS, 8, size, "m", False)
    places = st.dictionaries(st.integers(0, size - 1), st.integers(1, 9), min_size=1, max_size=4)
    counted = data.draw(st.lists(places, min_size=1, max_size=3))
    extents = data.draw(st.lists(st.tuples(*[st.integers(1, MASK)] * 2), min_size=3, max_size=3))
    rows = [(key, tuple(found.get(place, 0) for place in range(size))) for key, found in enumerate(counted)]
    plain = Table((spec,), (1,), [TableRow((key,), (words,)) for key, words in rows])
    extended = [TableRow((key,), ((*words, *extent),)) for (key, words), extent in zip(rows, extents, strict=False)]
    assert SHOWN[way](plain) == SHOWN[way](Table((spec._replace(has_extent=True),), (1,), extended))
