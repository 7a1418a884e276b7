"""Functions about the elements of maps: len() and find()."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.conversions import constant
from sonde.frontends.bpftrace.check.maps import assign_scratch, element
from sonde.frontends.bpftrace.check.scope import BtScope, MapUse
from sonde.frontends.bpftrace.check.types import INT64, is_of
from sonde.frontends.bpftrace.check.value_call import ValueCall
from sonde.frontends.bpftrace.object_names import GLUE_FRAMES, STACKS
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Expr
from sonde.model.types import BOOL, Struct, resolve, size_of


def length(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """len(@map), or the frames of a stack."""
    node = arguments[0]
    if not isinstance(node, nodes.MapName) or node.keys is not None or _holds_stack(node, scope):
        depth = stack_depth(call, node, scope)
        if depth is not None:
            return depth
    if not isinstance(node, nodes.MapName) or node.keys is not None:
        raise scope.mistake("len() expects a map or stack to be provided", call.at)
    use = keyed(call, node, scope)
    if use is None:
        scope.known.is_guessed = True
        return constant(0, scope.at(call.at), INT64)
    if use.function == "tseries":
        raise scope.mistake("len() does not take the map of a tseries(): print, clear or zero it", call.at)
    return tree.ElementCount(INT64, scope.at(call.at), scope.aggregation(use) if use.function else scope.array(use))


def _holds_stack(node: nodes.MapName, scope: BtScope) -> bool:
    """Whether it is a map without keys whose value is a stack."""
    use = scope.map(node.name, node.at)
    return use.keys == () and use.value is not None and is_of(use.value, STACKS)


def stack_depth(call: nodes.Call, node: nodes.Expr, scope: BtScope) -> Expr | None:
    """The number of a stack's frames; None of what is no stack."""
    e = scope.expression(node, scope)
    base = resolve(e.type)
    if not isinstance(base, Struct) or base.keyword not in STACKS:
        return None
    frames = base.members[-1]
    most = (size_of(frames.type) // 8) - (0 if base.keyword.startswith("u") else GLUE_FRAMES)
    at = scope.at(call.at)
    return tree.FilledWords(INT64, at, tree.MemberOf(frames.type, at, e, frames), most)


def keyed(call: nodes.Call, node: nodes.MapName, scope: BtScope) -> MapUse | None:
    """The map, if it has keys; None where it is not yet known."""
    use = scope.map(node.name, node.at)
    if use.keys == ():
        raise scope.mistake(f"call to {call.name}() expects a map with explicit keys (non-scalar map)", call.at)
    if use.keys is not None and (use.function or use.value is not None):
        return use
    if not scope.known.changed:
        raise scope.mistake(f"Undefined map: {node.name}", node.at)
    return None


def find(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """find(@map, key, $result): whether the element is there; $result is then its value."""
    node, key, result = arguments
    if not isinstance(node, nodes.MapName) or node.keys is not None:
        raise scope.mistake("find() expects a map", call.at)
    if not isinstance(result, nodes.ScratchVariable):
        raise scope.mistake("find() expects a variable as its third argument", result.at)
    at = scope.at(call.at)
    use = keyed(call, node, scope)
    if use is None:
        scope.known.is_guessed = True
        return tree.Const(BOOL, at, 0)
    place = nodes.MapName(node.at, node.name, (key,))
    value = element(place, scope)
    found = tree.Holds(BOOL, at, _same(value))
    taken = assign_scratch(nodes.Increment(call.at, result, 1, True), result.name, value, scope)
    return tree.Conditional(
        BOOL, at, found, tree.Comma(BOOL, at, taken, tree.Const(BOOL, at, 1)), tree.Const(BOOL, at, 0)
    )


def _same(value: Expr) -> tree.Element | tree.Aggregated:
    assert isinstance(value, (tree.Element, tree.Aggregated))
    return value


VALUES: dict[str, ValueCall] = {
    "len": ValueCall(1, 1, length),
    "find": ValueCall(3, 3, find),
}
