"""What is counted as text for Prometheus: whatever the keys are, totals stay, and the text can be parsed."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families as families

from sonde.library.export.exposition import Exposition
from sonde.library.export.families import families as families_of
from sonde.library.export.label_sets import OTHER, LabelSets
from sonde.library.export.snapshots import SnapshotMaker
from sonde.library.export.wanted import ExportRequest, ListenAddress
from sonde.model.aggregating import size_of
from sonde.model.records import AggregationSpec, Field

COUNTS = st.dictionaries(st.tuples(st.integers(0, 20), st.text(max_size=5)), st.integers(1, 2**40), max_size=30)


def spec(function, name="a", parameters=(), keys=2):
    fields = (Field(0, 8, "int"), Field(8, 8, "string"))[:keys]
    return AggregationSpec(name, function, parameters, fields, 16, size_of(function, parameters), "m", False)


class Seen:
    """A session in which that was counted."""

    faults = 3

    def __init__(self, *rows):
        self._rows = rows

    def everything(self, number):
        return self._rows[number]

    def look(self, number):
        return self._rows[number], 1

    def lost(self):
        return [SimpleNamespace(counter="records", lost=7)]


def maker(*specs, most=1000, told=None):
    traced = SimpleNamespace(aggregations=specs, arrays=())
    made, _ = families_of(traced, ["sonde_export"], ExportRequest(ListenAddress("127.0.0.1", 0)))
    texts = lambda of, key: [str(each) for each in key]  # noqa: E731
    return SnapshotMaker(made, most, texts, "--gauge", (told if told is not None else []).append)


def scraped(made, seen, exposition=None):
    """The samples, by their names and the values of their labels."""
    text = (exposition or Exposition()).text(made.take(seen)).decode()
    return {
        (sample.name, *sample.labels.values()): sample.value for family in families(text) for sample in family.samples
    }


@given(COUNTS, st.integers(1, 40))
def test_counters_add_up_to_what_was_counted(counts, most):
    found = scraped(maker(spec("count"), most=most), Seen({key: (count,) for key, count in counts.items()}))
    counted = {key[1:]: value for key, value in found.items() if key[0] == "sonde_a_total"}
    assert sum(counted.values()) == sum(counts.values())
    assert len(counted) <= most + 1
    own = {labels: value for labels, value in counted.items() if labels != (OTHER, OTHER)}
    assert own.items() <= {tuple(map(str, key)): count for key, count in counts.items()}.items()
    assert found["sonde_export_merged_keys", "@a"] == len(counts) - len(own)


@given(st.lists(COUNTS, max_size=6), st.integers(1, 5))
def test_what_was_removed_is_kept_by_label_sets_alone(looks, most):
    """Keys that come and go without end have no more label sets than there may be, and sums stay."""
    sets = LabelSets(1, most, lambda key: [str(key[0] % 9)])
    removed, total = {}, 0
    for counts in looks:
        for key, count in counts.items():
            kept = sets.kept_as(key)
            removed[kept] = removed.get(kept, 0) + count
        total += sum(counts.values())
        assert len(removed) <= most + 1
        assert sum(sets.grouped(removed, lambda one, other: one + other).values()) == total


@given(st.lists(COUNTS, max_size=4), st.integers(1, 10))
def test_a_label_set_stays_what_it_was(looks, most):
    """What is counted for it only rises, as counts do."""
    sets = LabelSets(2, most, lambda key: [str(each) for each in key])
    total, before = {}, {}
    for counts in looks:
        total = {key: total.get(key, 0) + counts.get(key, 0) for key in total | counts}
        now = sets.grouped(total, lambda one, other: one + other)
        assert before.keys() <= now.keys()
        assert all(now[labels] >= value for labels, value in before.items())
        assert sum(now.values()) == sum(total.values())
        before = now


@pytest.mark.long
@given(st.lists(st.dictionaries(st.integers(-(2**62), 2**62), st.integers(1, 99), max_size=8), min_size=1, max_size=3))
def test_buckets_of_histograms_are_cumulative_and_none_goes_away(looks):
    made, exposition, counted, known = maker(spec("quantize", keys=0)), Exposition(), {}, set()
    for values in looks:
        counted = {key: counted.get(key, 0) + values.get(key, 0) for key in counted | values}
        words = [0] * size_of("quantize", ())
        for value, count in counted.items():
            size = abs(value).bit_length()
            words[63 + (size if value > 0 else -size)] += count
        found = scraped(made, Seen({(): tuple(words)}), exposition)
        buckets = {float(key[1]): count for key, count in found.items() if key[0] == "sonde_a_bucket"}
        assert known <= buckets.keys()
        known = set(buckets)
        # Bounds that are no doubles are rounded.
        assert all(
            count == sum(number for value, number in counted.items() if value <= int(bound))
            for bound, count in buckets.items()
            if abs(bound) < 2**53
        )
        assert buckets[float("inf")] == found["sonde_a_count",] == sum(counted.values())


def test_what_has_no_keys_is_there_from_the_beginning():
    specs = [spec(function, function, keys=0) for function in ("count", "sum", "avg", "quantize", "max")]
    found = scraped(maker(*specs), Seen(*[{} for _ in specs]))
    assert found["sonde_count_total",] == found["sonde_sum_total",] == found["sonde_avg_count",] == 0
    assert found["sonde_quantize_count",] == 0
    assert ("sonde_max",) not in found
    assert found["sonde_export_lost_total", "records"] == 7
    assert found["sonde_export_aborted_clauses_total",] == 3


def test_a_sum_that_falls_is_told_once():
    told = []
    made = maker(spec("sum"), told=told)
    for value in (5, 3, 2):
        made.take(Seen({(1, "a"): (value,)}))
    assert told == [
        "@a has fallen, and Prometheus takes sonde_a_total for a counter, which only rises: --gauge a makes it a gauge"
    ]
