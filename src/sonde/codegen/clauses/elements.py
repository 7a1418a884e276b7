"""An element that a loop over them is at: its key and value into the variables of the clause."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation, Unsupported
from sonde.codegen.basis.names import text_of
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions.access import copy, store
from sonde.codegen.expressions.aggregated import value_of
from sonde.codegen.expressions.strings import copy_string
from sonde.codegen.intermediate.ir import Operand, Reg
from sonde.model import program as tree
from sonde.model.program import Aggregation
from sonde.model.records import Field
from sonde.model.types import Array, String, Struct, resolve, size_of
from sonde.model.units import whole_words
from sonde.model.walk import below


def take(g: Generation, s: tree.Each, key: Reg, value: Reg) -> None:
    """What the body uses of the element, whose key and value are at these addresses."""
    used = {node.variable for each in s.body for node in below(each) if isinstance(node, tree.Var)}
    fields, size = g.shared.keys[s.of]
    g.at(s.position)
    # The key is copied: it may be gone as soon as the body deletes the element.
    memory = g.framed(size)
    copy(g, Memory(key, 0), memory, size)
    for variable, field in zip(s.keys, fields, strict=True):
        if variable is not None and variable.variable in used:
            _set(g, variable, field, memory)
    if s.value is not None and s.value.variable in used:
        if isinstance(s.of, Aggregation):
            _store(g, s.value, value_of(g, s.of, memory, s.position))
        else:
            _copy(g, s.value, Memory(value, 0))
    g.release_temporaries()


def _set(g: Generation, variable: tree.Var, field: Field, key: Memory) -> None:
    """A variable to a part of the key."""
    memory = Memory(key.base, key.offset + field.offset)
    capacity = g.shared.settings.string_capacity
    if field.kind == "int":
        _store(g, variable, g.b.load(memory.base, memory.offset, field.size, field.signed))
    elif field.kind == "string":
        copy_string(g, memory, whole_words(field.size), _place(g, variable), capacity)
    elif field.kind == "interned":
        text = text_of(g, g.b.load(memory.base, memory.offset, 4))
        copy_string(g, text, g.shared.name_width, _place(g, variable), capacity)
    elif field.kind == "bytes":
        copy(g, memory, _place(g, variable), field.size)
    else:
        raise Unsupported("this part of a key as a value", variable.position)


def _copy(g: Generation, variable: tree.Var, value: Memory) -> None:
    kind = resolve(variable.type)
    if isinstance(kind, String):
        copy(g, value, _place(g, variable), g.shared.settings.string_capacity)
    elif isinstance(kind, (Struct, Array)):
        copy(g, value, _place(g, variable), size_of(kind))
    else:
        _store(g, variable, g.b.load(value.base, value.offset, size_of(kind) or 8))


def _store(g: Generation, variable: tree.Var, value: Operand) -> None:
    store(g, _place(g, variable), size_of(variable.type) or 8, value)


def _place(g: Generation, variable: tree.Var) -> Memory:
    """A variable that a loop uses is in memory."""
    place = g.place(variable)
    assert isinstance(place, Memory)
    return place
