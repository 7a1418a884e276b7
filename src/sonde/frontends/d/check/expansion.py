"""How large an expression may become when inline definitions and translators are put in.

Definitions that use each other twice double with each one, and whoever walks a tree walks every copy.
"""

from __future__ import annotations

from sonde.frontends.d.errors import DError
from sonde.frontends.d.stream import MAX_HEIGHT
from sonde.model.errors import Position
from sonde.model.program import Expr
from sonde.typed import Any, NamedTuple

MAX_NODES = 10_000
MAX_DEPTH = 50
"""Definitions within definitions: each costs a few calls of the checker."""

_EXPRESSIONS = Expr.__args__


class _Extent(NamedTuple):
    """How many nodes a tree has, and how many are above one another; `node` is kept so that its id stays its own."""

    node: object
    nodes: int
    height: int


class Expansions:
    """What has been expanded so far: the extent of each result, so that none is walked twice."""

    def __init__(self) -> None:
        self._known: dict[int, _Extent] = {}
        self._depth = 0
        self._count = 0

    def enter(self, position: Position) -> None:
        if self._depth == MAX_DEPTH:
            raise DError("D_UNKNOWN", f"definitions are nested more than {MAX_DEPTH} deep here", position)
        self._count = self._count + 1 if self._depth else 1
        if self._count > MAX_NODES:
            raise _too_large(position)
        self._depth += 1

    def leave(self) -> None:
        self._depth -= 1

    def require_moderate(self, result: object, position: Position) -> None:
        """Raise if the tree of the expression has become too large."""
        if not isinstance(result, _EXPRESSIONS):
            return
        extent = self._measure(result)
        if extent.nodes > MAX_NODES or extent.height > MAX_HEIGHT:
            raise _too_large(position)

    def _measure(self, node: Any) -> _Extent:
        known = self._known.get(id(node))
        if known is None:
            below = [self._measure(child) for child in _children(node)]
            nodes = 1 + sum(each.nodes for each in below)
            height = 1 + max((each.height for each in below), default=0)
            known = self._known[id(node)] = _Extent(node, nodes, height)
        return known


def _too_large(position: Position) -> DError:
    return DError("D_UNKNOWN", "expression is too large when the definitions it uses are put in", position)


def _children(node: Any) -> list[Any]:
    found: list[Any] = []
    for value in node[2:]:
        if isinstance(value, _EXPRESSIONS):
            found.append(value)
        elif type(value) is tuple:
            found += [each for each in value if isinstance(each, _EXPRESSIONS)]
    return found
