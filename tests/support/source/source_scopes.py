"""What names mean within a function: variables, imports and functions of its own."""

import ast
from collections.abc import Mapping

from support.source.source_definitions import FUNCTIONS, Definition, Imported, Sources, imported_names

Classes = frozenset[str] | None
"""Identifiers of classes; none are of the package where it is empty; None where nothing is known."""

FOREIGN: Classes = frozenset()

Scope = Mapping[str, object]


class Local:
    """A local variable of a function: the expressions and annotations that it gets its values from."""

    def __init__(self) -> None:
        self.annotation: ast.expr | None = None
        self.values: list[ast.expr | None] = []
        self.classes: Classes = None
        self.is_known = False


def scope_of(sources: Sources, definition: Definition) -> Scope:
    """The names that a function binds: variables, imports, functions."""
    node = definition.node
    scope: dict[str, object] = {}
    assert isinstance(node, FUNCTIONS)
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    is_static = any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in node.decorator_list)
    for number, each in enumerate(plain + arguments.kwonlyargs):
        local = scope[each.arg] = Local()
        local.annotation = each.annotation
        if definition.owner and number == 0 and not is_static:
            local.annotation, local.is_known = None, True
            local.classes = frozenset({definition.owner})
    for each in (arguments.vararg, arguments.kwarg):
        if each is not None:
            variable = scope[each.arg] = Local()
            variable.is_known, variable.classes = True, frozenset()
    for statement in node.body:
        _bind(statement, scope, sources, definition)
    return scope


def _bind(node: ast.AST, scope: dict[str, object], sources: Sources, definition: Definition) -> None:
    if isinstance(node, FUNCTIONS):
        scope[node.name] = f"{definition.id}.{node.name}"
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        scope.update(imported_names(node, sources.trees))
        return
    if isinstance(node, ast.Lambda):
        for each in ast.walk(node.args):
            if isinstance(each, ast.arg):
                _local(scope, each.arg).values.append(None)
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        _local(scope, node.targets[0].id).values.append(node.value)
    elif isinstance(node, ast.NamedExpr):
        _local(scope, node.target.id).values.append(node.value)
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        _local(scope, node.target.id).annotation = node.annotation
    elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
        _local(scope, node.optional_vars.id).values.append(None)
    else:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            _local(scope, node.id).values.append(None)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            _local(scope, node.name).values.append(None)
        for child in ast.iter_child_nodes(node):
            _bind(child, scope, sources, definition)
        return
    value = node.context_expr if isinstance(node, ast.withitem) else node.value
    if value is not None:
        _bind(value, scope, sources, definition)


def _local(scope: dict[str, object], name: str) -> Local:
    found = scope.get(name)
    if not isinstance(found, Local):
        found = scope[name] = Local()
    return found


def resolved(sources: Sources, node: ast.AST, module: str, scopes: list[Scope]) -> str:
    """As Sources.resolve, but for names of the scopes around."""
    if isinstance(node, ast.Name):
        for scope in reversed(scopes):
            if node.id in scope:
                found = scope[node.id]
                return (
                    sources.imported(found) if isinstance(found, Imported) else found if isinstance(found, str) else ""
                )
        return sources.meaning(module, node.id)
    if isinstance(node, ast.Attribute):
        base = resolved(sources, node.value, module, scopes)
        return sources.attribute(base, node.attr) if base else ""
    return ""
