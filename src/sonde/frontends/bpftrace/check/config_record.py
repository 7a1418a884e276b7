"""`config`: the settings that a program runs with, as a record."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.settings import SETTINGS, SWITCH
from sonde.frontends.bpftrace.check.value_call import ValueCall
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model.program import Expr


def config_record(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """config()."""
    values = tuple(_literal(name, value, call.at) for name, value in scope.settings.items())
    return scope.expression(nodes.RecordExpression(call.at, tuple(scope.settings), values), scope)


def _literal(name: str, value: int | str, span: SourceSpan) -> nodes.Expr:
    if isinstance(value, str):
        return nodes.StringLiteral(span, value.encode(errors="surrogateescape"))
    if SETTINGS[name].kind == SWITCH:
        return nodes.Name(span, "true" if value else "false")
    return nodes.Number(span, value)


VALUES: dict[str, ValueCall] = {
    "config": ValueCall(0, 0, config_record),
}
