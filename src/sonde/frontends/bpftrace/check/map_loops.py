"""Loops over maps: `for ($kv : @map)`, in which $kv is the tuple of an element's key and value."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sonde.frontends.bpftrace.check.aggregating import NUMBERS
from sonde.frontends.bpftrace.check.maps import number_type, stored
from sonde.frontends.bpftrace.check.scope import BtScope, MapUse
from sonde.frontends.bpftrace.check.tuples import tuple_of
from sonde.frontends.bpftrace.check.types import is_composed, is_scalar, is_text
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Expr, Statement
from sonde.model.types import Type

Body = Callable[[Iterable[nodes.Statement], BtScope], tuple[Statement, ...]]


def over_map(node: nodes.ForMap, scope: BtScope, body: Body) -> list[Statement]:
    """The model's loop over the elements."""
    of = node.map
    if not isinstance(of, nodes.MapName) or of.keys is not None:
        raise scope.mistake("a loop goes over a map or a range", of.at)
    if scope.find(node.name) is not None:
        raise scope.mistake(f"Loop declaration shadows existing variable: {node.name}", node.name_at)
    use = scope.map(of.name, of.at)
    if use.keys == ():
        text = f"{use.name} has no explicit keys (scalar map), and cannot be used for iteration"
        raise scope.mistake(text, of.at)
    if use.keys is None or not (use.function or use.value is not None):
        if not scope.known.changed:
            raise scope.mistake(f"Undefined map: {use.name}", of.at)
        # Filled further on in the program: the next pass knows with what.
        return []
    if use.function and use.function not in NUMBERS:
        raise scope.mistake(f"Loop expression does not support type: {use.function}_t", of.at)
    return _loop(node, use, use.key_types, scope, body)


def _loop(node: nodes.ForMap, use: MapUse, kinds: tuple[Type, ...], scope: BtScope, body: Body) -> list[Statement]:
    at = scope.at(node.at)
    scope.open()
    keys = [_variable(f"key{place}", stored(kind), node.at, scope) for place, kind in enumerate(kinds)]
    kind = number_type(use) if use.function else use.value
    assert kind is not None
    value = _variable("value", kind, node.at, scope)
    pair = scope.declare(node.name, None)
    pair.stands_for = _pair(keys, value, node.at, scope)
    scope.loops += 1
    checked = body(node.body, scope)
    scope.loops -= 1
    scope.close()
    of = scope.aggregation(use) if use.function else scope.array(use)
    return [tree.Each(at, of, tuple(keys), value, checked)]


def _variable(name: str, kind: Type, span: SourceSpan, scope: BtScope) -> tree.Var | None:
    """A variable for a part of the element, None for what no variable holds: stacks and symbols."""
    if not (is_scalar(kind) or is_text(kind) or is_composed(kind)):
        return None
    local = scope.declare(f"${name}", kind)
    # What the passes before knew of it may be less than the map's type.
    local.type = kind
    return tree.Var(kind, scope.at(span), scope.local_variable(local))


def _pair(keys: list[tree.Var | None], value: tree.Var | None, span: SourceSpan, scope: BtScope) -> Expr:
    """The tuple of key and value; what no variable holds is no member of it."""
    at = scope.at(span)
    parts: list[tuple[str, Expr]] = []
    known = [each for each in keys if each is not None]
    if len(known) == len(keys):
        parts.append(("0", known[0] if len(known) == 1 else tuple_of(_numbered(known), at, scope)))
    if value is not None:
        parts.append(("1", value))
    return tuple_of(parts, at, scope)


def _numbered(values: Iterable[Expr]) -> list[tuple[str, Expr]]:
    return [(str(place), each) for place, each in enumerate(values)]
