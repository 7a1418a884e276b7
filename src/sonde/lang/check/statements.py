"""The statements of a clause."""

from __future__ import annotations

from sonde.lang.check.actions import action
from sonde.lang.check.aggregations import aggregate
from sonde.lang.check.expressions import expression
from sonde.lang.check.kinds import is_recordable_opaque
from sonde.lang.check.operands import ActionCall, AggregationUse, Operand, value_of
from sonde.lang.check.order import ActionOrder
from sonde.lang.check.prototypes import DESTRUCTIVE
from sonde.lang.check.scope import Scope
from sonde.lang.d import syntax
from sonde.lang.errors import DError
from sonde.lang.program import Call, Evaluate, Statement, Trace


def statements(nodes: tuple[syntax.Statement, ...], scope: Scope) -> tuple[Statement, ...]:
    """All statements of one clause, in order."""
    order = ActionOrder()
    return tuple(_statement(node, order, scope) for node in nodes)


def _statement(node: syntax.Statement, order: ActionOrder, scope: Scope) -> Statement:
    if isinstance(node, syntax.If):
        raise DError("D_SYNTAX", "if is not supported; use predicates or ?:", node.position)
    inner = node.expression
    if isinstance(inner, syntax.Assign) and inner.op == "=" and isinstance(inner.target, syntax.Aggregation):
        return _aggregation(inner, order, scope)
    return _from_operand(expression(inner, scope), order, scope)


def _aggregation(node: syntax.Assign, order: ActionOrder, scope: Scope) -> Statement:
    use = expression(node.target, scope)
    assert isinstance(use, AggregationUse)
    result = aggregate(use, expression(node.value, scope), scope, node.position)
    order.note("aggregating", node.position)
    return result


def _from_operand(operand: Operand, order: ActionOrder, scope: Scope) -> Statement:
    if isinstance(operand, ActionCall):
        return action(operand, order, scope)
    if isinstance(operand, AggregationUse):
        raise DError("D_AGG_NULL", "expression has null effect", operand.position)
    value = value_of(operand)
    if is_recordable_opaque(value.type):
        order.note("recording", value.position)
        return Trace(value.position, value)
    if isinstance(value, Call) and value.name in DESTRUCTIVE:
        order.note("destructive", value.position)
    return Evaluate(value.position, value)
