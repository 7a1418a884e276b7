"""unwatch(): watchpoints that a program wants no more. What fires there is nothing from then on, at once and on all
CPUs; the processor's own breakpoint goes at the program's end.
"""

from __future__ import annotations

from sonde.frontends.bpftrace.check.conversions import constant
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import INT64, UINT64, base_name, is_scalar
from sonde.frontends.bpftrace.check.value_call import Action
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.lexer import integer_of
from sonde.model import program as tree
from sonde.model.program import Expr, Kept, Statement, Variable
from sonde.model.types import INT

_MOST = 64
"""Addresses; a processor watches a few at a time."""


def unwatch(call: nodes.Call, scope: BtScope) -> Statement:
    """unwatch(address)."""
    if len(call.arguments) != 1 or isinstance(call.arguments[0], nodes.TypeName):
        raise scope.mistake(f"unwatch() requires one argument ({len(call.arguments)} provided)", call.at)
    address = scope.expression(call.arguments[0], scope)
    if not is_scalar(address.type):
        text = f"unwatch() only supports int arguments ({base_name(address.type)} provided)"
        raise scope.mistake(text, call.at)
    scope.known.changed |= not scope.known.unwatches
    scope.known.unwatches = True
    at = scope.at(call.at)
    place = tree.Element(INT64, at, _addresses(scope), (tree.Cast(UINT64, at, address),))
    return tree.Evaluate(at, tree.Assign(INT64, at, place, constant(1, at, INT64)))


def is_watched(span: SourceSpan, scope: BtScope) -> Expr | None:
    """Whether the watchpoint of the clause is still wanted, None where the program takes none away."""
    if not scope.known.unwatches or scope.attached.kind != "watchpoint":
        return None
    at = scope.at(span)
    address = integer_of(scope.attached.text.split(":")[1]) or 0
    place = tree.Element(INT64, at, _addresses(scope), (constant(address, at, UINT64),))
    return tree.Binary(INT, at, "==", place, constant(0, at, INT64))


def _addresses(scope: BtScope) -> Variable:
    return scope.hidden("unwatched", INT64, (UINT64,), Kept(_MOST))


ACTIONS: dict[str, Action] = {"unwatch": unwatch}
