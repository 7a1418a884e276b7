"""Which strings can be NULL, as far as the program's text tells: those that cannot are never asked."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model import program as tree
from sonde.model.program import Clause, Variable
from sonde.model.types import String, resolve
from sonde.model.walk import is_zero, nodes

_MAY_FIND_NOTHING = ("strchr", "strrchr", "strstr", "strtok", "json")


def can_be_null(e: tree.Expr, nullable: frozenset[Variable]) -> bool:
    """Whether the string can be NULL, where of the global and clause-local variables those in `nullable` can.

    A thread's variable and an element can, as long as nobody has set them.
    """
    if isinstance(e, tree.Element):
        return True
    if isinstance(e, tree.Var):
        return e.variable.scope == "self" or e.variable in nullable
    if isinstance(e, tree.Cast):
        return is_zero(e) or (isinstance(resolve(e.operand.type), String) and can_be_null(e.operand, nullable))
    if isinstance(e, tree.Conditional):
        return can_be_null(e.then, nullable) or can_be_null(e.otherwise, nullable)
    if isinstance(e, tree.Assign):
        return can_be_null(e.value, nullable)
    if isinstance(e, tree.Comma):
        return can_be_null(e.right, nullable)
    return isinstance(e, tree.Call) and e.name in _MAY_FIND_NOTHING


def gather_nullable(clauses: Sequence[Clause]) -> frozenset[Variable]:
    """The global and clause-local strings that are somewhere set to what can be NULL."""
    assignments = [
        (node.target.variable, node.value)
        for clause in clauses
        for node in nodes(clause)
        if isinstance(node, tree.Assign)
        and isinstance(node.target, tree.Var)
        and isinstance(resolve(node.target.type), String)
    ]
    found: frozenset[Variable] = frozenset()
    while True:
        more = frozenset(variable for variable, value in assignments if can_be_null(value, found))
        if more == found:
            return found
        found = more
