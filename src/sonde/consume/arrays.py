"""Associative arrays that are kept, in their maps."""

from __future__ import annotations

from sonde.consume.decode import key_reader
from sonde.consume.events import Contents
from sonde.engines.base import DataSource
from sonde.model.records import ArraySpec
from sonde.model.spec import TracingSpec


def contents(spec: TracingSpec, array: ArraySpec, tracing: DataSource) -> Contents:
    """All elements of an array at present."""
    elements = tracing.read_map(array.map)
    keys = key_reader(array.keys, spec.strings, array.key_size)([key for key, _ in elements])
    return Contents(array, [(key, value) for key, (_, value) in zip(keys, elements, strict=True)])


def empty(array: ArraySpec, keeps_keys: bool, tracing: DataSource) -> None:
    """Delete all elements, or make their values zero."""
    for key, value in tracing.read_map(array.map):
        if keeps_keys:
            tracing.write_map(array.map, key, bytes(len(value)))
        else:
            tracing.remove_from_map(array.map, key)
