"""Where functions return."""

from __future__ import annotations

import ast
from collections.abc import Sequence


def returns(node: ast.stmt) -> bool:
    return any(isinstance(each, ast.Return) for each in ast.walk(node))


def ends(nodes: Sequence[ast.stmt]) -> bool:
    """Whether every way through the statements returns."""
    last = nodes[-1] if nodes else None
    if isinstance(last, ast.If):
        return ends(last.body) and ends(last.orelse)
    return isinstance(last, ast.Return)


def returns_early(nodes: Sequence[ast.stmt]) -> bool:
    """Whether statements may follow a return that the form of the function does not keep from being reached: then a
    variable has to say that it has returned."""
    for number, node in enumerate(nodes):
        if not returns(node):
            continue
        rest = nodes[number + 1 :]
        if isinstance(node, ast.If):
            if ends(node.body):
                return returns_early(node.body) or returns_early([*node.orelse, *rest])
            if ends(node.orelse):
                return returns_early([*node.body, *rest]) or returns_early(node.orelse)
            return bool(rest) or returns_early(node.body) or returns_early(node.orelse)
        return not isinstance(node, ast.Return)
    return False
