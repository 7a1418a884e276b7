"""Aggregations: snapshots, printa's tables, clear, trunc and normalize.

All actions of one record work on one snapshot (`Moment`) of each aggregation, so `printa(@a); clear(@a)` clears what
it printed and not one increment more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from itertools import chain

from sonde.consume.events import Table, TableRow, Value
from sonde.consume.options import Options
from sonde.consume.order import sort_rows, truncation_order
from sonde.consume.store import AggregationStore, Canonical, Key, Snapshot
from sonde.model.aggregating import merging_of, zero_words
from sonde.model.aggregation_words import Words
from sonde.model.records import Action, AggregationSpec, ClearAction, Field, NormalizeAction, PrintaAction, TruncAction
from sonde.model.spec import TracingSpec
from sonde.typed import TYPE_CHECKING, Any, TypeAlias, TypeGuard

if TYPE_CHECKING:
    from sonde.engines.base import DataSource

AggregationAction: TypeAlias = PrintaAction | ClearAction | TruncAction | NormalizeAction

Label = Callable[[Field, Value], bytes]
"""The text shown for a symbol; addresses with the same text are one key."""


class Moment:
    """The snapshots that the actions of one record share.

    `final` are the aggregations whose maps are replaced when the snapshot is taken, for a trunc or clear to come.
    `kept` are snapshots taken earlier that are to be used instead, as far as the maps need not be replaced.
    """

    def __init__(
        self,
        stores: Sequence[AggregationStore],
        final: frozenset[int] = frozenset(),
        kept: dict[int, Snapshot] | None = None,
    ) -> None:
        self._stores = stores
        self._final = final
        self._kept = kept
        self._snapshots: dict[int, Snapshot] = {}

    def snapshot(self, index: int) -> Snapshot:
        taken = self._snapshots.get(index)
        if taken is None and self._kept is not None and index not in self._final:
            taken = self._kept.get(index)
        if taken is None:
            taken = self._stores[index].read(index in self._final)
            self.change(index, taken)
        return taken

    def change(self, index: int, snapshot: Snapshot) -> None:
        """The actions that follow see what a clear or trunc has left of the snapshot."""
        self._snapshots[index] = snapshot
        if self._kept is None:
            return
        if snapshot.is_final:
            # The map that the programs write to is another one.
            self._kept.pop(index, None)
        else:
            self._kept[index] = snapshot


class Aggregations:
    """The aggregations of one session."""

    def __init__(
        self, spec: TracingSpec, tracing: DataSource, options: Options, label: Label | None,
        kept_as: Callable[[int, Key], Key | None] | None = None,
        canonical: Canonical | None = None,
    ) -> None:  # fmt: skip
        self._specs = spec.aggregations
        self._options = options
        self._label = label
        self._stores = [
            AggregationStore(
                one, spec.strings, tracing, options.aggpercpu, None, partial(kept_as, number) if kept_as else None,
                canonical,
            )
            for number, one in enumerate(spec.aggregations)
        ]  # fmt: skip
        self._factors = [1] * len(self._stores)
        self._printed: set[int] = set()
        self._kept: dict[int, Snapshot] = {}
        self._is_over = False

    def refresh(self) -> bool:
        """With the option aggrate: look again at what was looked at before; False if that is nothing."""
        self._kept = {index: self._stores[index].read(False) for index in self._kept}
        return bool(self._kept)

    def forget(self) -> None:
        """Tracing is over: what is printed from here on is looked at then, aggrate or not."""
        self._kept.clear()
        self._is_over = True

    def moment(self, actions: Iterable[Action]) -> Moment:
        """The beginning of a record with these actions."""
        final = frozenset([one.aggregation for one in actions if self._wants_final(one)])
        keeps = self._options.aggrate > 0 and not self._is_over
        return Moment(self._stores, final, self._kept if keeps else None)

    def _wants_final(self, action: Action) -> TypeGuard[ClearAction | TruncAction]:
        if isinstance(action, ClearAction):
            spec = self._specs[action.aggregation]
            return spec.replaceable or merging_of(spec).subtract is None
        return isinstance(action, TruncAction)

    def carry_out(self, action: AggregationAction, value: Callable[[Field], Any], moment: Moment) -> Table | None:
        """Carry out one action; `value` reads the record's fields. Returns what a printa shows."""
        match action:
            case PrintaAction(_, aggregations):
                return self.table(aggregations, moment)
            case ClearAction(index):
                moment.change(index, self._stores[index].clear(moment.snapshot(index)))
            case TruncAction(index, keep):
                self._trunc(index, keep and value(keep), moment)
            case NormalizeAction(index, factor):
                # A factor of 0 cannot divide: like none at all.
                self._factors[index] = (factor and value(factor)) or 1
        return None

    def table(self, indexes: Sequence[int], moment: Moment) -> Table:
        """Sorted rows of one aggregation or of several joined; they count as printed if there are any."""
        table = self._table(indexes, moment)
        if table.rows:
            self._printed.update(indexes)
        return table

    def _table(self, indexes: Sequence[int], moment: Moment) -> Table:
        specs = tuple(self._specs[index] for index in indexes)
        if len(indexes) == 1 and not self._are_labels(specs[0].keys):
            found = moment.snapshot(indexes[0]).values.items()
            rows = [(key, TableRow(key, (words,), self._cpus(indexes, moment, [key]))) for key, words in found]
        else:
            rows = self._joined(indexes, specs, moment)
        sort_rows(rows, specs, self._options)
        return Table(specs, tuple(self._factors[index] for index in indexes), [row for _, row in rows])

    def _joined(
        self, indexes: Sequence[int], specs: Sequence[AggregationSpec], moment: Moment
    ) -> list[tuple[Key, TableRow]]:
        """The rows of several aggregations, or of keys that are the same by their names, each by what it is."""
        joined: dict[Key, list[Words | None]] = {}
        keys: dict[Key, list[Key]] = {}
        for place, index in enumerate(indexes):
            add = merging_of(self._specs[index]).add
            for key, words in moment.snapshot(index).values.items():
                identity = self._identity(specs[0].keys, key)
                row = joined.setdefault(identity, [None] * len(indexes))
                keys.setdefault(identity, []).append(key)
                earlier = row[place]
                row[place] = words if earlier is None else add(earlier, words)
        return [
            (identity, TableRow(keys[identity][0], tuple(words), self._cpus(indexes, moment, keys[identity])))
            for identity, words in joined.items()
        ]

    def _cpus(self, indexes: Sequence[int], moment: Moment, keys: list[Key]) -> tuple[tuple[Words, ...], ...]:
        """The values of each CPU alone, for one row that stands for these keys."""
        if not self._options.aggpercpu:
            return ()
        return tuple(
            tuple(
                reduce(add, [part.values[key] for key in set(keys) & part.values.keys()], zero)
                for part in moment.snapshot(index).cpus
            )
            for index in indexes
            for spec in (self._specs[index],)
            for zero, add in ((zero_words(spec), merging_of(spec).add),)
        )

    def _are_labels(self, fields: Sequence[Field]) -> bool:
        return self._label is not None and any(field.kind in ("symbol", "user_symbol") for field in fields)

    def _identity(self, fields: Sequence[Field], key: Key) -> Key:
        """What makes keys the same and what they are sorted by: symbols by name, all else by value."""
        label = self._label
        if label is None or not self._are_labels(fields):
            return key
        return tuple(
            label(field, value) if field.kind in ("symbol", "user_symbol") else value
            for field, value in zip(fields, key, strict=True)
        )

    def _trunc(self, index: int, keep: int | None, moment: Moment) -> None:
        """Remove all keys but the `keep` highest (negative: lowest)."""
        snapshot = moment.snapshot(index)
        order = truncation_order(self._specs[index])
        keys = sorted(snapshot.values, key=lambda key: order(key, snapshot.values[key]))
        kept = keys[max(len(keys) - keep, 0) :] if keep and keep > 0 else keys[:-keep] if keep else []
        moment.change(index, self._stores[index].remove(snapshot, set(keys).difference(kept)))

    def look(self, index: int, contents: Sequence[tuple[bytes, bytes]]) -> tuple[dict[Key, Words], int]:
        """What an aggregation has come to at present where its map has `contents`, and what it is normalized by."""
        return self._stores[index].absorb(contents, False).values, self._factors[index]

    def everything(self, index: int, contents: Iterable[tuple[bytes, bytes]]) -> dict[Key, Words]:
        """All that the aggregation has ever counted; see `Store.everything`."""
        return self._stores[index].everything(contents)

    def held(self, index: int) -> Iterable[Key]:
        """The keys of an aggregation that may be shown though its map does not have them, and others."""
        kept = self._kept.get(index)
        return chain(self._stores[index].held(), kept.values if kept else ())

    def shown(self, index: int) -> Table:
        """The rows of one aggregation at present; it counts as printed if there are any."""
        return self.table((index,), Moment(self._stores))

    def remaining(self) -> list[Table]:
        """The tables to print at the end: every aggregation with keys that no printa has shown, in order."""
        moment = Moment(self._stores)
        tables = [self._table((index,), moment) for index in range(len(self._specs)) if index not in self._printed]
        if self._options.aggsortrev:
            tables.reverse()
        return [table for table in tables if table.rows]
