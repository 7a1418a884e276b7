"""All nodes of a checked clause, outermost first."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.model import program as tree
from sonde.model.errors import Position
from sonde.model.probe import Probe
from sonde.model.program import Aggregation, Clause, Variable
from sonde.model.types import Member
from sonde.typed import Any

_LEAVES = (Position, Member, Probe, Variable, Aggregation)


def nodes(clause: Clause) -> Iterator[Any]:
    """Every statement and expression of the clause, its condition and its predicate included."""
    if clause.condition is not None:
        yield from below(clause.condition)
    if clause.predicate is not None:
        yield from below(clause.predicate)
    for statement in clause.statements:
        yield from below(statement)


def below(node: Any) -> Iterator[Any]:
    """The node and every statement and expression in it."""
    yield node
    for name, value in zip(node._fields, node, strict=True):
        if name in ("type", "operation", "pieces") or isinstance(value, _LEAVES):
            continue
        if hasattr(value, "_fields"):
            yield from below(value)
        elif isinstance(value, tuple):
            for item in value:
                if hasattr(item, "_fields") and not isinstance(item, _LEAVES):
                    yield from below(item)


def is_zero(value: tree.Expr) -> bool:
    """Whether this is a constant 0 under whatever casts: NULL, and what frees a string."""
    while isinstance(value, tree.Cast):
        value = value.operand
    return isinstance(value, tree.Const) and value.value == 0
