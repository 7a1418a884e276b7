"""Values that are asked for several times: variables of the clause that a program does not see."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.model import program as tree
from sonde.model.program import Expr


def held(value: Expr, label: str, span: SourceSpan, scope: BtScope) -> Expr:
    """The variable that has a value, taken before the statement that asks for it. Raises BtError where there is no
    place for that."""
    if not scope.before:
        raise scope.mistake("a call that needs statements is not supported here", span)
    at = scope.at(span)
    variable = tree.Var(value.type, at, scope.local_variable(scope.declare(f"${label}", value.type)))
    scope.before[-1].append(tree.Evaluate(at, tree.Assign(value.type, at, variable, value)))
    return variable
