"""Associative arrays that are kept, described for whoever shows them."""

from __future__ import annotations

from sonde.codegen.basis.generation import Shared
from sonde.codegen.basis.storage import kept_map, object_size
from sonde.model.program import Variable
from sonde.model.records import ArraySpec, Field
from sonde.model.types import Array, String, Struct, is_signed, name_of, resolve


def describe(shared: Shared) -> tuple[ArraySpec, ...]:
    """All of the program, in the order of their numbers; adds their maps."""
    return tuple(_array(shared, each) for each in shared.arrays)


def _array(shared: Shared, variable: Variable) -> ArraySpec:
    fields, size = shared.keys[variable]
    assert variable.keys is not None
    types = tuple(map(shared.types.number, variable.keys))
    number = shared.types.number(variable.type)
    return ArraySpec(variable.name, fields, types, size, _value(shared, variable), number, kept_map(shared, variable))


def _value(shared: Shared, variable: Variable) -> Field:
    """Where the value is in an element."""
    base, size = resolve(variable.type), object_size(shared, variable.type)
    if isinstance(base, String):
        return Field(0, size, "string")
    if isinstance(base, (Struct, Array)):
        return Field(0, size, "bytes", detail=name_of(variable.type))
    return Field(0, size, "int", is_signed(base))
