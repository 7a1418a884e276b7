"""join(): the strings of an array, in one line."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.address_spaces import pointer_into
from sonde.frontends.bpftrace.check.conversions import constant, literal_text
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import UINT64, base_name, is_integer
from sonde.frontends.bpftrace.check.value_call import Action
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.conversions import Conversion
from sonde.model.kinds import pointer_like
from sonde.model.program import Expr, Statement
from sonde.model.types import CHAR, INT, STRING, Pointer, resolve

_MOST = 16
"""Strings that are shown: of what is longer the beginning."""


def join(call: nodes.Call, scope: BtScope) -> Statement:
    """join(strings, [separator]): as far as the first NULL among the pointers."""
    if not 1 <= len(call.arguments) <= 2 or isinstance(call.arguments[0], nodes.TypeName):
        raise scope.mistake(f"join() requires 1 or 2 arguments ({len(call.arguments)} provided)", call.at)
    at = scope.at(call.at)
    array = scope.expression(call.arguments[0], scope)
    base = resolve(array.type)
    if not isinstance(base, Pointer) and not is_integer(array.type):
        raise scope.mistake(
            f"join() only supports int or pointer arguments ({base_name(array.type)} provided)", call.at
        )
    into = pointer_into(UINT64, array, scope)
    separator = b" "
    if len(call.arguments) > 1:
        separator = literal_text(call.arguments[1], scope, "join()", call.at)
    pointers = _pointers(array, into, call, scope)
    values: list[Expr] = []
    for number, pointer in enumerate(pointers):
        if number:
            values.append(_unless_null(pointer, tree.StringConst(STRING, at, separator)))
        characters = tree.Cast(STRING, at, tree.Cast(pointer_like(into, CHAR), at, pointer))
        values.append(_unless_null(pointer, characters))
    pieces = (*(Conversion("", letters="s") for _ in values), Conversion("\n"))
    return tree.FormattedCommand(at, "join", pieces, tuple(values))


def _unless_null(pointer: Expr, text: Expr) -> Expr:
    at = text.position
    return tree.Conditional(STRING, at, _is_set(pointer), text, tree.StringConst(STRING, at, b""))


def _is_set(pointer: Expr) -> Expr:
    return tree.Binary(INT, pointer.position, "!=", pointer, constant(0, pointer.position, UINT64))


def _pointers(array: Expr, into: Pointer, call: nodes.Call, scope: BtScope) -> list[Expr]:
    """The pointers, each read before the statement; 0 behind the first that is 0."""
    at = scope.at(call.at)
    start = _held(tree.Cast(UINT64, at, array), scope)
    found: list[Expr] = []
    for number in range(_MOST):
        place = tree.Binary(UINT64, at, "+", start, constant(8 * number, at, UINT64))
        read = tree.Deref(UINT64, at, tree.Cast(into, at, place))
        before = found[-1] if found else start
        found.append(_held(tree.Conditional(UINT64, at, _is_set(before), read, constant(0, at, UINT64)), scope))
    return found


def _held(value: Expr, scope: BtScope) -> Expr:
    """A variable that has the value from before the statement on."""
    local = scope.declare("joined", UINT64)
    variable = tree.Var(UINT64, value.position, scope.local_variable(local))
    assign = tree.Assign(UINT64, value.position, variable, value)
    scope.before[-1].append(tree.Evaluate(value.position, assign))
    return variable


ACTIONS: dict[str, Action] = {"join": join}
