"""Which names a function makes itself, and which it shares with what is around it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from sonde.typed import NamedTuple


class FunctionNames(NamedTuple):
    """`own` are the names of its parameters and variables, `shared` those that it declares as variables of a module or
    a function around it."""

    own: frozenset[str]
    shared: frozenset[str]


def names_of(tree: ast.FunctionDef) -> FunctionNames:
    """Those of a function."""
    nodes = [*ast.walk(tree)]
    shared = frozenset(name for each in nodes if isinstance(each, (ast.Global, ast.Nonlocal)) for name in each.names)
    own = {each.arg for each in parameters_of(tree)}
    own |= {each.id for each in nodes if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}
    return FunctionNames(frozenset(own) - shared, shared)


def parameters_of(tree: ast.FunctionDef) -> Iterable[ast.arg]:
    """The parameters that have a place or a name."""
    return (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)
