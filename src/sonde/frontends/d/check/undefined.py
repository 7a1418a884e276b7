"""Variables that are not there where they are read, though the same clause brings them into being."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.frontends.d import syntax
from sonde.model.errors import Position
from sonde.typed import Any, TypeAlias

UNDEFINED = ("D_IDENT_UNDEF", "D_VAR_UNDEF")
"""What an unknown variable is called where it is read."""

_Name: TypeAlias = tuple[str, str]
"""`global`, `self` or `this`, and a name."""


def is_assigned(position: Position | None, predicate: syntax.Expr, nodes: tuple[syntax.Statement, ...]) -> bool:
    """Whether the statements assign to the variable that stands at this place of the predicate."""
    names = {name for place, name in _variables(predicate) if place == position}
    return bool(names & set(_assigned(nodes)))


def _trees(tree: Any) -> Iterator[Any]:
    """All nodes of a syntax tree, or of several."""
    if isinstance(tree, tuple):
        yield tree
        for each in tree:
            yield from _trees(each)


def _variables(tree: Any) -> Iterator[tuple[Position, _Name]]:
    for node in _trees(tree):
        name = _name(node)
        if name is not None:
            yield node.position, name
        if isinstance(node, syntax.Index):
            name = _name(node.object)
            if name is not None:
                yield node.position, name


def _assigned(tree: Any) -> Iterator[_Name]:
    for node in _trees(tree):
        if isinstance(node, (syntax.Assign, syntax.Increment)):
            target = node.target
            name = _name(target.object if isinstance(target, syntax.Index) else target)
            if name is not None:
                yield name


def _name(node: Any) -> _Name | None:
    if isinstance(node, syntax.ScopedVariable):
        return node.scope, node.name
    return ("global", node.name) if isinstance(node, syntax.Identifier) and node.module is None else None
