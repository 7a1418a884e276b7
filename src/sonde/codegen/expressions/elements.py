"""Elements of arrays that are kept and of aggregations: whether they are there, how many there are, and their end."""

from __future__ import annotations

from collections.abc import Callable

from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.kernels import require_loops
from sonde.codegen.basis.storage import kept_map
from sonde.codegen.expressions import aggregated
from sonde.codegen.expressions.variables import element_key
from sonde.codegen.intermediate.ir import CallArgument, FunctionAddress, Imm, MapDescriptor, Operand, Reg
from sonde.model import program as tree
from sonde.model.program import Aggregation, Variable

AnyMap = MapDescriptor | Reg


def remove(g: Generation, e: tree.Remove) -> Operand:
    """1 if the element was there."""

    def removed(map_: AnyMap, key: CallArgument) -> Operand:
        return g.b.truth("eq", g.call("map_delete_elem", map_, key), Imm(0))

    return _with(g, e.element, removed)


def holds(g: Generation, e: tree.Holds) -> Operand:
    def found(map_: AnyMap, key: CallArgument) -> Operand:
        return g.b.truth("ne", g.call("map_lookup_elem", map_, key), Imm(0))

    return _with(g, e.element, found)


def count(g: Generation, e: tree.ElementCount) -> Operand:
    """bpf_for_each_map_elem says how many elements it has visited."""
    require_loops(g, "len()", e.position)

    def visited(map_: AnyMap) -> Operand:
        return g.call("for_each_map_elem", map_, FunctionAddress("visit_none"), Imm(0), Imm(0))

    return in_map(g, e.of, visited)


def _with(g: Generation, e: tree.Element | tree.Aggregated, act: Callable[[AnyMap, CallArgument], Operand]) -> Operand:
    """What comes of a map and a key in it."""
    if isinstance(e, tree.Aggregated):
        key = aggregated.key(g, e)
        return in_map(g, e.aggregation, lambda map_: act(map_, g.argument_of(key.base, key.offset)))
    name, key = element_key(g, e)
    return act(MapDescriptor(name), g.argument_of(key.base, key.offset))


def in_map(g: Generation, of: Variable | Aggregation, act: Callable[[AnyMap], Operand]) -> Operand:
    """What comes of the map, 0 where there is none at present."""
    if isinstance(of, Variable):
        return act(MapDescriptor(kept_map(g.shared, of)))
    result = g.b.copy(Imm(0))
    end = g.b.label()
    g.b.move(result, act(g.map_of(of, end)))
    g.b.place(end)
    return result
