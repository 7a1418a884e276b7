"""All nodes of a checked clause, outermost first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    return _all(each for each in (clause.condition, clause.predicate, *clause.statements) if each is not None)


def below(node: Any) -> Iterator[Any]:
    """The node and every statement and expression in it."""
    return _all((node,))


def inner(node: Any) -> Iterator[Any]:
    """The statements and expressions that are directly in the node."""
    above: Any = type(node)
    for place in _places(above):
        value = node[place]
        yield from filter(_is_node, value if type(value) is tuple else (value,))


def _all(first: Iterable[Any]) -> Iterator[Any]:
    waiting = [*first]
    waiting.reverse()
    while waiting:
        node = waiting.pop()
        yield node
        # From the last, which is taken last.
        above: Any = type(node)
        for place in _places(above):
            value = node[place]
            kind: Any = type(value)
            if kind is tuple:
                waiting += filter(_is_node, reversed(value))
            elif kind not in _PLAIN and _is_inner(kind):
                waiting.append(value)


_PLAIN = frozenset({int, str, bytes, bool, type(None)})


_WITHOUT = frozenset({
    "int", "str", "bytes", "bool", "str | None", "tuple[Conversion, ...]", *(each.__name__ for each in _LEAVES),
})  # fmt: skip
"""What a field is declared as in which no node can be."""


@cache
def _places(kind: Any) -> tuple[int, ...]:
    """The fields of a node in which others may be, from the last."""
    names = [name for name in kind._fields if name not in ("type", "operation", "pieces")]
    inner = [name for name in names if kind.__annotations__[name] not in _WITHOUT]
    return tuple(kind._fields.index(name) for name in reversed(inner))


def _is_node(item: Any) -> bool:
    kind: Any = type(item)
    return _is_inner(kind)


@cache
def _is_inner(kind: Any) -> bool:
    return hasattr(kind, "_fields") and not issubclass(kind, _LEAVES)


def is_zero(value: tree.Expr) -> bool:
    """Whether this is a constant 0 under whatever casts: NULL, and what frees a string."""
    while isinstance(value, tree.Cast):
        value = value.operand
    return isinstance(value, tree.Const) and value.value == 0
