"""The maps of aggregations: one for each, or, where they are many, arrays of maps for those of equal shape."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.bpf import maps as kinds
from sonde.codegen.basis.generation import Shared
from sonde.model import aggregating
from sonde.model.aggregating import HISTOGRAMS, element_size, size_of
from sonde.model.program import Aggregation, Variable
from sonde.model.records import AggregationSpec
from sonde.model.spec import MapSpec, element_name

ELEMENT_COST = 128
"""Bytes of kernel memory that an element takes beside its key and value (struct htab_elem, the per-CPU pointer and
chunk): part of what aggsize pays for."""

_MOST_ALONE = 40
"""Maps for aggregations and associative arrays; with those for other things a program may use `maps.MOST_MAPS`."""


def words(aggregation: Aggregation) -> int:
    """The u64 words of one value."""
    return size_of(aggregation.function, aggregation.parameters)


def has_mark(aggregation: Aggregation, keys: int) -> bool:
    """Whether a word behind them says that the value was used."""
    return aggregating.has_mark(aggregation.function, keys)


def has_extent(aggregation: Aggregation) -> bool:
    """Whether words at the end of an element say which values were the least and the greatest."""
    return aggregation.function in HISTOGRAMS


def element_words(aggregation: Aggregation, keys: int) -> int:
    """The u64 words of an element, for each CPU."""
    return element_size(aggregation.function, aggregation.parameters, keys, has_extent(aggregation))


def describe(shared: Shared, aggregations: Sequence[Aggregation]) -> tuple[AggregationSpec, ...]:
    """The aggregations for the consumer; adds their maps. The variables have theirs already."""
    arrays = {shared.variables[owner][0] for owner in shared.keys if isinstance(owner, Variable)}
    most = _MOST_ALONE - len(arrays)
    if len(aggregations) > most:
        # They share the memory of as many as could have a map of their own.
        inner = [_map(shared, a, shared.settings.aggsize * most // len(aggregations)) for a in aggregations]
        _put_into_arrays(shared, aggregations, inner)
    else:
        for aggregation in aggregations:
            _put_alone(shared, aggregation, _map(shared, aggregation, shared.settings.aggsize))
    return tuple(_describe(shared, aggregation) for aggregation in aggregations)


def _map(shared: Shared, aggregation: Aggregation, memory: int) -> MapSpec:
    """A map with as many elements as there is room for in `memory` bytes."""
    fields, key_size = shared.keys[aggregation]
    name = f"@{aggregation.id}_{aggregation.name}".replace("@", "agg")[:15]
    value_size = 8 * element_words(aggregation, len(fields))
    if not fields:
        return MapSpec(name, kinds.PERCPU_ARRAY, 4, value_size, 1)
    if aggregation.kept is not None:
        kind = kinds.LRU_PERCPU_HASH if aggregation.kept.evicts else kinds.PERCPU_HASH
        return MapSpec(name, kind, key_size, value_size, aggregation.kept.entries)
    entries = max(64, memory // (key_size + value_size + ELEMENT_COST))
    return MapSpec(name, kinds.PERCPU_HASH, key_size, value_size, entries)


def _put_alone(shared: Shared, aggregation: Aggregation, spec: MapSpec) -> None:
    is_replaceable = aggregation in shared.replaceable
    shared.maps.add(_array_of(spec.name, 1, spec) if is_replaceable else spec)
    shared.aggregations[aggregation] = (spec.name, 0 if is_replaceable else None)


def _put_into_arrays(shared: Shared, aggregations: Sequence[Aggregation], inner: Sequence[MapSpec]) -> None:
    """All elements of an array of maps must be alike."""
    alike: dict[MapSpec, list[Aggregation]] = {}
    for aggregation, spec in zip(aggregations, inner, strict=True):
        alike.setdefault(spec._replace(name=""), []).append(aggregation)
    for number, (spec, members) in enumerate(alike.items()):
        name = shared.maps.add(_array_of(f"aggs{number}", len(members), spec))
        shared.aggregations.update((member, (name, index)) for index, member in enumerate(members))


def _array_of(name: str, entries: int, inner: MapSpec) -> MapSpec:
    return MapSpec(name, kinds.ARRAY_OF_MAPS, 4, 4, entries, inner=inner._replace(name=f"in_{name}"[:15]))


def _describe(shared: Shared, aggregation: Aggregation) -> AggregationSpec:
    fields, key_size = shared.keys[aggregation]
    name, index = shared.aggregations[aggregation]
    return AggregationSpec(
        aggregation.name, aggregation.function, aggregation.parameters, fields, key_size if fields else 4,
        words(aggregation), element_name(name, index or 0), index is not None, title=aggregation.title,
        is_unsigned=aggregation.is_unsigned, has_extent=has_extent(aggregation),
    )  # fmt: skip


def typed(
    shared: Shared, aggregations: Sequence[Aggregation], specs: Sequence[AggregationSpec]
) -> tuple[AggregationSpec, ...]:
    """The same with the types of their keys."""
    return tuple(
        spec._replace(key_types=tuple(map(shared.types.number, aggregation.keys)))
        for aggregation, spec in zip(aggregations, specs, strict=True)
    )
