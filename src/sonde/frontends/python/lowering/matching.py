"""`match` as `if` and `elif`, where its patterns are values."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import count

from sonde.typed import TypeVar

_Node = TypeVar("_Node", bound=ast.AST)


def without_match(tree: ast.FunctionDef) -> ast.FunctionDef:
    """The function with conditions in the place of each `match` whose patterns are constants, names with dots, `|` of
    these, or a name that takes all; others stay."""
    if any(isinstance(each, ast.Match) for each in ast.walk(tree)):
        tree.body = _statements(tree.body, count(1))
    return tree


def _statements(nodes: list[ast.stmt], numbers: Iterator[int]) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for node in nodes:
        blocks: list[ast.AST] = [node, *(node.cases if isinstance(node, ast.Match) else ())]
        for block in blocks:
            for name in ("body", "orelse"):
                inner = getattr(block, name, None)
                if inner:
                    setattr(block, name, _statements(inner, numbers))
        is_plain = isinstance(node, ast.Match) and all(_is_plain(each.pattern, each.guard) for each in node.cases)
        found += _conditions(node, next(numbers)) if isinstance(node, ast.Match) and is_plain else [node]
    return found


def _conditions(node: ast.Match, number: int) -> list[ast.stmt]:
    name = f"#subject{number}"
    before = _at(ast.Assign([_at(ast.Name(name, ast.Store()), node.subject)], node.subject), node)
    rest: list[ast.stmt] = []
    for case in reversed(node.cases):
        rest = [_condition(case, name, rest)]
    return [before, *rest]


def _is_plain(pattern: ast.pattern, guard: ast.expr | None) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return all(isinstance(each, (ast.MatchValue, ast.MatchSingleton)) for each in pattern.patterns)
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None and (pattern.name is None or guard is None)
    return isinstance(pattern, (ast.MatchValue, ast.MatchSingleton))


def _condition(case: ast.match_case, name: str, rest: list[ast.stmt]) -> ast.If:
    pattern, body = case.pattern, case.body
    if isinstance(pattern, ast.MatchAs) and pattern.name is not None:
        taken = _at(ast.Name(pattern.name, ast.Store()), pattern)
        body = [_at(ast.Assign([taken], _at(ast.Name(name, ast.Load()), pattern)), pattern), *body]
    test = _test(pattern, name)
    if case.guard is not None:
        test = _at(ast.BoolOp(ast.And(), [test, case.guard]), pattern)
    return _at(ast.If(test, body, rest), pattern)


def _test(pattern: ast.pattern, name: str) -> ast.expr:
    if isinstance(pattern, ast.MatchOr):
        return _at(ast.BoolOp(ast.Or(), [_test(each, name) for each in pattern.patterns]), pattern)
    if isinstance(pattern, ast.MatchValue):
        return _compared(ast.Eq(), pattern.value, name, pattern)
    if isinstance(pattern, ast.MatchSingleton):
        return _compared(ast.Is(), _at(ast.Constant(pattern.value), pattern), name, pattern)
    return _at(ast.Constant(True), pattern)


def _compared(op: ast.cmpop, value: ast.expr, name: str, pattern: ast.pattern) -> ast.expr:
    return _at(ast.Compare(_at(ast.Name(name, ast.Load()), pattern), [op], [value]), pattern)


def _at(made: _Node, place: ast.AST) -> _Node:
    return ast.copy_location(made, place)
