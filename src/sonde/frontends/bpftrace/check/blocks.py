"""Blocks as values: their statements come before the one that they stand in."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sonde.frontends.bpftrace.check.macros import expanded, require_end
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model.program import Expr, Statement

Statements = Callable[[Iterable[nodes.Statement], BtScope], tuple[Statement, ...]]


def block_value(node: nodes.BlockValue, scope: BtScope) -> Expr:
    """The value at the end of a block."""
    if not scope.before:
        raise scope.mistake("a block as a value is not supported here", node.at)
    scope.open()
    scope.before[-1] += scope.body(node.statements, scope)
    value = scope.expression(node.value, scope)
    scope.close()
    return value


def unhurried(node: nodes.Expr, scope: BtScope) -> Expr:
    """A value that is not always asked for, so nothing of it may come before its statement."""
    scope.before.append([])
    value = scope.expression(node, scope)
    if scope.before.pop():
        raise scope.mistake("a block as a value is not supported where a condition decides on it: use if", node.at)
    return value


def macro_value(call: nodes.Call | nodes.Name, scope: BtScope) -> Expr | None:
    """The value of a macro's call, None where there is no such macro."""
    made = expanded(call, scope)
    if made is None:
        return None
    if not isinstance(made, nodes.BlockValue):
        raise scope.mistake(f"Macro {call.name} has no value", call.at)
    scope.depth += 1
    require_end(scope.depth, call, scope)
    value = block_value(made, scope)
    scope.depth -= 1
    return value
