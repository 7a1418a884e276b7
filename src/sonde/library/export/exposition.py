"""Snapshots as the text that Prometheus reads, made by prometheus_client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter

from prometheus_client.core import Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.utils import floatToGoString

from sonde import __version__
from sonde.library.aggregations import value_of
from sonde.library.export.families import COUNTER, GAUGE, HISTOGRAM, SUMMARY, Family, shown_name
from sonde.library.export.label_sets import LabelSet
from sonde.library.export.snapshots import FamilyValues, MetricSnapshot
from sonde.library.histograms import Histogram
from sonde.library.scalars import Average
from sonde.model.aggregation_words import signed
from sonde.model.records import AggregationSpec
from sonde.model.units import SECOND
from sonde.typed import Any

OWN = "sonde_export"
"""How the names of metrics begin that are about sonde itself."""

OWN_METRICS = ("sonde_export", "sonde_export_snapshot_seconds", "sonde_export_snapshot_timestamp_seconds",
               "sonde_export_lost", "sonde_export_aborted_clauses", "sonde_export_merged_keys")  # fmt: skip

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Exposition:
    """Makes texts. Histograms show the buckets from the lowest to the highest that any key has used so far, so that
    those of one metric are the same, and none goes away."""

    def __init__(self) -> None:
        self._used: dict[str, tuple[int, int]] = {}

    def text(self, snapshot: MetricSnapshot) -> bytes:
        """In the text format of Prometheus: OpenMetrics has no histograms whose sum is not known."""
        text: bytes = generate_latest(_Registry([*self._metrics(snapshot)]))
        return text

    def _metrics(self, snapshot: MetricSnapshot) -> Iterator[Any]:
        for each in snapshot.families:
            yield self._metric(each)
        yield from _own(snapshot)

    def _metric(self, found: FamilyValues) -> Any:
        family = found.family
        made = Metric(family.name, family.help, family.kind)
        add = {COUNTER: _counter, GAUGE: _gauge, SUMMARY: _summary}.get(family.kind)
        if family.kind == HISTOGRAM:
            self._histogram(made, found)
        elif add is not None:
            for labels, value in found.values.items():
                add(made, family, dict(zip(family.labels, labels, strict=True)), value, found.factor)
        return made

    def _histogram(self, made: Any, found: FamilyValues) -> None:
        family, spec = found.family, found.family.spec
        assert isinstance(spec, AggregationSpec)
        values = {labels: value_of(spec, words) for labels, words in found.values.items()}
        first, last = self._range(family.name, values)
        for labels, value in values.items():
            assert isinstance(value, Histogram)
            known = dict(zip(family.labels, labels, strict=True))
            counts = [signed(word) for word in value.words]
            so_far = sum(counts[:first])
            for (_, high), count in zip(value.bounds()[first : last + 1], counts[first : last + 1], strict=True):
                so_far += count
                if high is not None:
                    made.add_sample(f"{family.name}_bucket", {**known, "le": floatToGoString(high)}, so_far)
            made.add_sample(f"{family.name}_bucket", {**known, "le": "+Inf"}, sum(counts))
            made.add_sample(f"{family.name}_count", known, sum(counts))

    def _range(self, name: str, values: Mapping[LabelSet, Any]) -> tuple[int, int]:
        """The places of the buckets that are shown."""
        used = [place for value in values.values() for place, word in enumerate(value.words) if word]
        earlier = self._used.get(name)
        places = [*used, *(earlier or ())]
        if not places:
            return 0, -1
        self._used[name] = min(places), max(places)
        return self._used[name]


def _counter(made: Any, family: Family, labels: dict[str, str], words: Any, factor: int) -> None:
    made.add_sample(f"{family.name}_total", labels, signed(words[0]))


def _gauge(made: Any, family: Family, labels: dict[str, str], value: Any, factor: int) -> None:
    spec = family.spec
    number = value_of(spec, value, factor) if isinstance(spec, AggregationSpec) else value
    made.add_sample(family.name, labels, getattr(number, "number", number))


def _summary(made: Any, family: Family, labels: dict[str, str], words: Any, factor: int) -> None:
    value = Average(words)
    made.add_sample(f"{family.name}_count", labels, value.count)
    made.add_sample(f"{family.name}_sum", labels, value.total)


class _Registry:
    """As much of a registry as encoders want."""

    def __init__(self, metrics: Iterable[Any]) -> None:
        self._metrics = sorted(metrics, key=attrgetter("name"))

    def collect(self) -> Iterable[Any]:
        return self._metrics


def _own(snapshot: MetricSnapshot) -> Iterator[Any]:
    """What there is to know about the export itself."""
    about = Metric(OWN, "The sonde that exports", "info")
    about.add_sample(f"{OWN}_info", {"version": __version__}, 1)
    yield about
    took = Metric(f"{OWN}_snapshot_seconds", "How long the aggregations took to be read", GAUGE)
    took.add_sample(took.name, {}, snapshot.seconds)
    yield took
    when = Metric(f"{OWN}_snapshot_timestamp_seconds", "When the aggregations were read", GAUGE)
    when.add_sample(when.name, {}, snapshot.time / SECOND)
    yield when
    lost = Metric(f"{OWN}_lost", "What was lost so far, as messages tell", COUNTER)
    for kind in sorted({"records", "aggregations", *snapshot.lost}):
        lost.add_sample(f"{OWN}_lost_total", {"kind": kind}, snapshot.lost.get(kind, 0))
    yield lost
    faults = Metric(f"{OWN}_aborted_clauses", "Clauses that a fault has ended", COUNTER)
    faults.add_sample(f"{OWN}_aborted_clauses_total", {}, snapshot.faults)
    yield faults
    merged = Metric(f"{OWN}_merged_keys", "Keys that share a label set, (other), as there are too many", GAUGE)
    for each in snapshot.families:
        merged.add_sample(merged.name, {"aggregation": shown_name(each.family.spec)}, each.merged)
    yield merged
