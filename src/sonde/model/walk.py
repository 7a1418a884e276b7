"""All nodes of a checked clause, outermost first."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

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
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        found: list[Any] = []
        kind: Any = type(node)
        for place in _places(kind):
            value = node[place]
            kind = type(value)
            if kind is tuple:
                found += [item for item in value if hasattr(item, "_fields") and not isinstance(item, _LEAVES)]
            elif kind not in _PLAIN and _is_inner(kind):
                found.append(value)
        waiting += reversed(found)


_PLAIN = frozenset({int, str, bytes, bool, type(None)})


@cache
def _places(kind: Any) -> tuple[int, ...]:
    """The fields of a node in which others may be."""
    return tuple(place for place, name in enumerate(kind._fields) if name not in ("type", "operation", "pieces"))


@cache
def _is_inner(kind: Any) -> bool:
    return hasattr(kind, "_fields") and not issubclass(kind, _LEAVES)


def is_zero(value: tree.Expr) -> bool:
    """Whether this is a constant 0 under whatever casts: NULL, and what frees a string."""
    while isinstance(value, tree.Cast):
        value = value.operand
    return isinstance(value, tree.Const) and value.value == 0
