"""Associative arrays that are kept, read from their maps."""

from __future__ import annotations

from sonde.consume.decode import key_reader
from sonde.consume.events import Contents
from sonde.engines.base import Tracing
from sonde.model.spec import ArraySpec, TracingSpec


def contents(spec: TracingSpec, array: ArraySpec, tracing: Tracing) -> Contents:
    """All elements of an array at present."""
    elements = tracing.read_map(array.map)
    keys = key_reader(array.keys, spec.strings, array.key_size)([key for key, _ in elements])
    return Contents(array, [(key, value) for key, (_, value) in zip(keys, elements, strict=True)])
