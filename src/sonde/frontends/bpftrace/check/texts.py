"""Functions of strings, and of what is like them: arrays of characters and pointers to them."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.conversions import constant, constant_value, string
from sonde.frontends.bpftrace.check.predicates import not_like_text
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.tuples import text_size
from sonde.frontends.bpftrace.check.types import INT64, UINT64, is_text, spelled
from sonde.frontends.bpftrace.check.value_call import ValueCall
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Expr
from sonde.model.types import BOOL, INT, STRING, Array, Pointer, resolve


def characters(node: nodes.Expr, scope: BtScope) -> Expr:
    """The string that a value has or leads to."""
    e = scope.expression(node, scope)
    why = not_like_text(e.type)
    if why:
        raise scope.mistake(f"{why} ({spelled(e.type)} provided)", node.at)
    return string(e) if is_text(e.type) else tree.Cast(STRING, e.position, e)


def length(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """strlen(text)."""
    return tree.Call(UINT64, scope.at(call.at), "strlen", (characters(arguments[0], scope),))


def capacity(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """strcap(text): the bytes that there are for it, with those behind its end; of a pointer the length."""
    e, at = scope.expression(arguments[0], scope), scope.at(call.at)
    base = resolve(e.type)
    if isinstance(base, Array) and base.length is not None and not not_like_text(e.type):
        return constant(base.length, at, INT64)
    if isinstance(base, Pointer):
        return tree.Cast(INT64, at, length(call, arguments, scope))
    characters(arguments[0], scope)
    return constant(text_size(e, scope), at, INT64)


def default_length(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    return constant(scope.strsize, scope.at(call.at), UINT64)


def index(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """strstr(text, part): where it begins first, -1 where it is not in it."""
    whole, part = (characters(each, scope) for each in arguments)
    at = scope.at(call.at)
    return tree.Cast(INT64, at, tree.Call(INT, at, "index", (whole, part)))


def contains(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """strcontains(text, part)."""
    at = scope.at(call.at)
    found = index(call, arguments, scope)
    return tree.Cast(BOOL, at, tree.Binary(INT, at, ">=", found, constant(0, at, INT64)))


def joined(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """str_concat(one, other)."""
    one, other = (characters(each, scope) for each in arguments)
    return tree.Call(STRING, scope.at(call.at), "strjoin", (one, other))


def compared(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """strncmp(one, other, n): 0 where the first n characters are equal; n is a literal."""
    count = constant_value(arguments[2], scope, "strncmp()")
    if count < 0:
        raise scope.mistake("Builtin strncmp requires a non-negative literal", call.at)
    one, other = _cut(call, arguments, count, scope)
    at = scope.at(call.at)
    return tree.Cast(UINT64, at, tree.Binary(INT, at, "!=", one, other))


def ordered(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """memcmp(one, other, n) of strings: -1, 0 or 1."""
    count = constant_value(arguments[2], scope, "memcmp()")
    one, other = _cut(call, arguments, count, scope)
    at = scope.at(call.at)
    differs = tree.Cast(INT64, at, tree.Binary(INT, at, "!=", one, other))
    less = tree.Binary(INT, at, "<", one, other)
    return tree.Conditional(INT64, at, less, constant(-1, at, INT64), differs)


def _cut(call: nodes.Call, arguments: list[nodes.Expr], count: int, scope: BtScope) -> tuple[Expr, Expr]:
    """Both strings, without what is beyond the first characters."""
    one, other = (characters(each, scope) for each in arguments[:2])
    short = [each for each in (one, other) if isinstance(each, tree.StringConst) and len(each.value) < count]
    if short:
        # What goes on behind it differs from its end.
        return one, other
    return _start(one, count), _start(other, count)


def _start(e: Expr, count: int) -> Expr:
    if isinstance(e, tree.StringConst):
        return tree.StringConst(STRING, e.position, e.value[:count])
    at = e.position
    return tree.Call(STRING, at, "substr", (e, constant(0, at, INT), constant(count, at, INT)))


VALUES: dict[str, ValueCall] = {
    "strlen": ValueCall(1, 1, length),
    "strcap": ValueCall(1, 1, capacity),
    "strstr": ValueCall(2, 2, index),
    "strcontains": ValueCall(2, 2, contains),
    "strncmp": ValueCall(3, 3, compared),
    "memcmp": ValueCall(3, 3, ordered),
    "str_concat": ValueCall(2, 2, joined),
    "default_str_length": ValueCall(0, 0, default_length),
}
