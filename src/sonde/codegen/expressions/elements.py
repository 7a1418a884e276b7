"""Elements of arrays that are kept: whether they are there, and their end."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.expressions.variables import element_key
from sonde.codegen.intermediate.ir import Imm, MapDescriptor, Operand
from sonde.model import program as tree


def remove(g: Generation, e: tree.Remove) -> Operand:
    """1 if the element was there."""
    name, key = element_key(g, e.element)
    result = g.call("map_delete_elem", MapDescriptor(name), g.argument_of(key.base, key.offset))
    return g.b.truth("eq", result, Imm(0))


def holds(g: Generation, e: tree.Holds) -> Operand:
    name, key = element_key(g, e.element)
    found = g.call("map_lookup_elem", MapDescriptor(name), g.argument_of(key.base, key.offset))
    return g.b.truth("ne", found, Imm(0))
