"""What a program has counted at one moment, as values of metrics: made by the thread that traces, read by others."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from sonde.library.aggregations import Key
from sonde.library.export.families import COUNTER, Family, shown_name
from sonde.library.export.label_sets import LabelSet, LabelSets
from sonde.library.export.wanted import KeyTexts
from sonde.model.aggregating import merging_of, zero_words
from sonde.model.aggregation_words import Words, signed
from sonde.model.records import ArraySpec
from sonde.session.participants import Sight
from sonde.typed import Any, NamedTuple


class FamilyValues(NamedTuple):
    """The values of a metric by their labels: words of an aggregation, which the program has normalized by `factor`, or
    the numbers of an array; and how many keys share the last set (`label_sets.OTHER`)."""

    family: Family
    values: Mapping[LabelSet, Any]
    factor: int
    merged: int


class MetricSnapshot(NamedTuple):
    """All metrics at `time` (ns since 1970), which took so many `seconds` to read; what was lost so far by its kind,
    and how many clauses were aborted."""

    time: int
    seconds: float
    families: tuple[FamilyValues, ...]
    lost: Mapping[str, int]
    faults: int


class SnapshotMaker:
    """Makes snapshots of the metrics of a run."""

    def __init__(
        self, made: Sequence[Family], most: int, texts: KeyTexts, gauge_option: str, tell: Callable[[str], None]
    ) -> None:
        """`most` label sets for each metric. `gauge_option` is what makes a sum a gauge, for messages."""
        self._families = tuple(made)
        self._tell = tell
        self._most = most
        self._gauge_option = gauge_option
        self._sets = [LabelSets(len(each.labels), most, _texts_of(each, texts)) for each in self._families]
        self._lost: Counter[str] = Counter()
        self._told: set[tuple[str, int]] = set()
        self._sums: dict[int, dict[LabelSet, int]] = {}

    def take(self, sight: Sight) -> MetricSnapshot:
        """As it is now."""
        begun = time.monotonic()
        now = time.time_ns()
        found = tuple(self._values(place, sight) for place in range(len(self._families)))
        for drop in sight.lost():
            self._lost[drop.counter] += drop.lost
        return MetricSnapshot(now, time.monotonic() - begun, found, dict(self._lost), sight.faults)

    def kept_as(self, aggregation: int, key: Key) -> Key | None:
        """See `Watcher.kept_as`."""
        for family, sets in zip(self._families, self._sets, strict=True):
            if family.number == aggregation and not isinstance(family.spec, ArraySpec):
                return sets.kept_as(key) if family.is_cumulative else None
        return None

    def _values(self, place: int, sight: Sight) -> FamilyValues:
        family, sets = self._families[place], self._sets[place]
        spec, factor = family.spec, 1
        values: Mapping[LabelSet, Any]
        if isinstance(spec, ArraySpec):
            values = sets.grouped(_numbers(spec, sight.elements(family.number)), _last)
        else:
            rows: Mapping[Key, Words]
            if family.is_cumulative:
                rows = sight.everything(family.number)
            else:
                rows, factor = sight.look(family.number)
            if not (rows or family.labels) and family.is_cumulative:
                # What has no labels is there from the beginning: so it can be seen to rise.
                rows = {(): zero_words(spec)}
            values = sets.grouped(rows, merging_of(spec).add)
            if family.kind == COUNTER:
                self._require_rising(place, values)
        if sets.merged and self._is_untold("many", place):
            self._tell(
                f"{shown_name(spec)} has more than {self._most} keys: those behind them are one label set, (other), of "
                f"{family.name}"
            )
        return FamilyValues(family, values, factor, sets.merged)

    def _require_rising(self, place: int, values: Mapping[LabelSet, Words]) -> None:
        """A counter that falls has begun anew, for Prometheus."""
        family = self._families[place]
        before, now = self._sums.get(place, {}), {labels: signed(words[0]) for labels, words in values.items()}
        self._sums[place] = now
        if any(value < before.get(labels, 0) for labels, value in now.items()) and self._is_untold("fell", place):
            name = shown_name(family.spec)
            self._tell(
                f"{name} has fallen, and Prometheus takes {family.name}_total for a counter, which only rises: "
                f"{self._gauge_option} {name.lstrip('@') or '_'} makes it a gauge"
            )

    def _is_untold(self, kind: str, place: int) -> bool:
        is_new = (kind, place) not in self._told
        self._told.add((kind, place))
        return is_new


def _texts_of(family: Family, texts: KeyTexts) -> Callable[[Key], Sequence[str]]:
    return lambda key: texts(family.spec, key)


def _last(_: int, later: int) -> int:
    """Numbers of several keys cannot be added: one of them is the last."""
    return later


def _numbers(spec: ArraySpec, rows: Sequence[tuple[Key, bytes]]) -> dict[Key, int]:
    field = spec.value
    return {key: int.from_bytes(data[: field.size], "little", signed=field.signed) for key, data in rows}
