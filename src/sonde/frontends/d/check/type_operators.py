"""Expressions with a type in them, or that make another type of a value: casts, sizeof, offsetof, stringof, xlate."""

from __future__ import annotations

from collections.abc import Callable

from sonde.frontends.d import syntax
from sonde.frontends.d.check import casts, translators
from sonde.frontends.d.check.declarations import type_name
from sonde.frontends.d.check.operands import Operand
from sonde.frontends.d.check.scope import Evaluate, Scope
from sonde.typed import Any


def operation(node: syntax.Expr, scope: Scope, operand: Evaluate) -> Operand:
    """Check one; `operand` is for those whose operand may bring a variable into being."""
    return _RULES[type(node)](node, scope, operand)


def _cast(node: syntax.Cast, scope: Scope, _operand: Evaluate) -> Operand:
    return casts.cast(type_name(node.type, scope), scope.evaluate(node.operand, scope), node.position)


def _sizeof_expression(node: syntax.SizeofExpr, scope: Scope, operand: Evaluate) -> Operand:
    return casts.sizeof_expression(operand(node.operand, scope), scope.strsize, node.position)


def _sizeof_type(node: syntax.SizeofType, scope: Scope, _operand: Evaluate) -> Operand:
    return casts.sizeof_type(type_name(node.type, scope), scope.strsize, node.position)


def _offsetof(node: syntax.Offsetof, scope: Scope, _operand: Evaluate) -> Operand:
    return casts.offsetof(type_name(node.type, scope), node.member, node.position)


def _stringof(node: syntax.Stringof, scope: Scope, operand: Evaluate) -> Operand:
    return casts.stringof(operand(node.operand, scope), node.position)


def _xlate(node: syntax.Xlate, scope: Scope, _operand: Evaluate) -> Operand:
    output = type_name(node.type, scope)
    return translators.xlate(output, scope.evaluate(node.operand, scope), scope, node.position)


_RULES: dict[type, Callable[[Any, Scope, Evaluate], Operand]] = {
    syntax.Cast: _cast,
    syntax.SizeofExpr: _sizeof_expression,
    syntax.SizeofType: _sizeof_type,
    syntax.Offsetof: _offsetof,
    syntax.Stringof: _stringof,
    syntax.Xlate: _xlate,
}
