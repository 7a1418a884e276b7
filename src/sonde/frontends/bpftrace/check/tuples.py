"""Tuples and records: structures whose members have numbers or names."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.frontends.bpftrace.check.aggregating import shown_function
from sonde.frontends.bpftrace.check.conversions import converted
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import fixed, is_object, is_scalar, is_text, spelled, structure_of
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.errors import Position
from sonde.model.program import Expr
from sonde.model.types import CHAR, Array, Type, resolve


def composed(node: nodes.Tuple | nodes.RecordExpression, scope: BtScope) -> Expr:
    """A tuple or a record."""
    for each in node.items:
        if function := shown_function(each, scope):
            where = "tuple" if isinstance(node, nodes.Tuple) else "record"
            raise scope.mistake(f"Map type {function}_t cannot exist inside a {where}.", each.at)
    values = [scope.expression(each, scope) for each in node.items]
    kinds = tuple(_member(value, each, scope) for value, each in zip(values, node.items, strict=True))
    if isinstance(node, nodes.Tuple):
        kind = structure_of("tuple", tuple(map(str, range(len(kinds)))), kinds)
    else:
        kind = structure_of("record", node.names, kinds)
    return tree.Compose(kind, scope.at(node.at), tuple(converted(v, k) for v, k in zip(values, kinds, strict=True)))


def tuple_of(parts: Sequence[tuple[str, Expr]], at: Position, scope: BtScope) -> Expr:
    """A tuple of values that can be members, each with its number."""
    kinds = tuple(Array(CHAR, text_size(each, scope)) if is_text(each.type) else fixed(each.type) for _, each in parts)
    kind = structure_of("tuple", tuple(name for name, _ in parts), kinds)
    values = tuple(converted(each, kind) for (_, each), kind in zip(parts, kinds, strict=True))
    return tree.Compose(kind, at, values)


def _member(value: Expr, node: nodes.Expr, scope: BtScope) -> Type:
    """The type of a member that holds a value."""
    if is_text(value.type):
        return Array(CHAR, text_size(value, scope))
    if is_scalar(value.type) or is_object(value.type):
        return fixed(value.type)
    raise scope.mistake(f"{spelled(value.type)} cannot be part of a tuple", node.at)


def text_size(value: Expr, scope: BtScope) -> int:
    """The bytes that a string takes at most, with its NUL."""
    if isinstance(value, tree.StringConst):
        return len(value.value) + 1
    if isinstance(value, tree.Builtin):
        if value.name == "execname":
            return _COMM
        names = scope.texts.values() if value.name == "probetext" else (p.function for p in scope.attached.probes)
        return max((len(name.encode()) for name in names), default=0) + 1
    if isinstance(value, tree.Call) and value.name == "__named":
        return _NAME
    if isinstance(value, tree.Conditional):
        return max(text_size(value.then, scope), text_size(value.otherwise, scope))
    inner = value.operand if isinstance(value, tree.Cast) else value
    base = resolve(inner.type)
    return base.length if isinstance(base, Array) and base.length else scope.strsize


_NAME = 64
"""Of an error, a signal or a system call."""

_COMM = 16
