"""Blocks as values: their statements come before the one that they stand in."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sonde.frontends.bpftrace.check.conversions import bare, converted
from sonde.frontends.bpftrace.check.macros import enter, expanded, leave
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import is_text
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Expr, Statement
from sonde.model.types import STRING
from sonde.typed import TypeAlias

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


def unhurried(node: nodes.Expr, scope: BtScope) -> tuple[list[Statement], Expr]:
    """A value that is not always asked for, and what comes before it where it is."""
    scope.before.append([])
    value = scope.expression(node, scope)
    return scope.before.pop(), value


Branch: TypeAlias = tuple[list[Statement], Expr]
"""Statements, and the value that they come to."""


def either(test: Expr, then: Branch, otherwise: Branch, span: SourceSpan, scope: BtScope) -> Expr:
    """A value that a condition decides on, of which one at least has statements: a variable that both set."""
    if not scope.before:
        raise scope.mistake("a block as a value is not supported here", span)
    local, at = scope.declare("$either", None), scope.at(span)
    for _, value in (then, otherwise):
        scope.learn_local(local, STRING if is_text(value.type) else value.type, span)
    assert local.type is not None
    kind, variable = local.type, tree.Var(local.type, at, scope.local_variable(local))
    first, second = (
        (*before, tree.Evaluate(at, tree.Assign(kind, at, variable, converted(value, kind))))
        for before, value in (then, otherwise)
    )
    scope.before[-1].append(tree.If(at, bare(test), first, second))
    return variable


def macro_value(call: nodes.Call | nodes.Name, scope: BtScope) -> Expr | None:
    """The value of a macro's call, None where there is no such macro."""
    made = expanded(call, scope)
    if made is None:
        return None
    if not isinstance(made, nodes.BlockValue):
        kind = "Function" if call.name in scope.functions else "Macro"
        raise scope.mistake(f"{kind} {call.name} has no value", call.at)
    enter(call, scope)
    value = block_value(made, scope)
    leave(call, scope)
    return value
