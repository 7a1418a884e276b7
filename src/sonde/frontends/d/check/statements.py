"""The statements of a clause."""

from __future__ import annotations

from collections.abc import Callable

from sonde.frontends.d import syntax
from sonde.frontends.d.check import actions
from sonde.frontends.d.check.aggregations import aggregate
from sonde.frontends.d.check.doubtful import note_assignment
from sonde.frontends.d.check.expressions import aggregation_use, chosen, expression
from sonde.frontends.d.check.operands import ActionCall, AggregationUse, Operand, value_of
from sonde.frontends.d.check.operators import is_scalar_test
from sonde.frontends.d.check.order import ActionOrder
from sonde.frontends.d.check.prototypes import DESTRUCTIVE
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.errors import DError
from sonde.model import inlining
from sonde.model.kinds import is_recordable_opaque
from sonde.model.program import (
    Aggregate,
    Call,
    Evaluate,
    Expr,
    If,
    Leave,
    Loop,
    Print,
    Printf,
    Return,
    Statement,
    Trace,
    Tracemem,
)

OF_ACTIONS = frozenset(
    ("D_ACT_SPEC", "D_AGG_COMM", "D_AGG_NULL", "D_AGG_SCALAR", "D_AGG_SPEC", "D_ALLOCA_SIZE", "D_CG_DYN", "D_CG_EXPR",
     "D_CLEAR_AGGARG", "D_CLEAR_AGGBAD", "D_COMM_DREC", "D_DREC_COMM", "D_EXIT_SPEC", "D_FREOPEN_INVALID",
     "D_NORMALIZE_AGGARG", "D_NORMALIZE_AGGBAD", "D_PRINTA_AGGARG", "D_PRINTA_AGGBAD", "D_PRINTA_AGGKEY",
     "D_PRINTA_AGGPROTO", "D_PRINTA_PROTO", "D_PRINTF_AGG_CONV", "D_PRINTF_ARG_EXTRA", "D_PRINTF_ARG_FMT",
     "D_PRINTF_ARG_PROTO", "D_PRINTF_ARG_TYPE", "D_PRINTF_DYN_PROTO", "D_PRINTF_DYN_TYPE", "D_PRINTF_FMT_EMPTY",
     "D_PRINT_SIZE", "D_SPEC_COMM", "D_SPEC_DREC", "D_SPEC_SPEC", "D_STACK_SIZE", "D_TRACEMEM_ADDR",
     "D_TRACEMEM_SIZE", "D_TRACE_DYN", "D_TRACE_VOID", "D_TRUNC_AGGARG", "D_TRUNC_AGGBAD", "D_USTACK_FRAMES",
     "D_USTACK_STRSIZE")
)  # fmt: skip
"""What DTrace notices when it makes an action's code, behind everything that is wrong with names and types."""


def statements(nodes: tuple[syntax.Statement, ...], scope: Scope) -> tuple[Statement, ...]:
    """All statements of one clause, in order."""
    order = ActionOrder()
    found: list[Statement] = []
    refused: DError | None = None
    for node in nodes:
        try:
            found += _statement(node, order, scope, False)
        except DError as error:
            if error.tag not in OF_ACTIONS:
                raise
            refused = refused or error
    if refused is not None:
        raise refused
    return tuple(found)


def _block(
    nodes: tuple[syntax.Statement, ...], order: ActionOrder, scope: Scope, in_loop: bool
) -> tuple[Statement, ...]:
    return tuple(each for node in nodes for each in _statement(node, order, scope, in_loop))


def _statement(node: syntax.Statement, order: ActionOrder, scope: Scope, in_loop: bool) -> tuple[Statement, ...]:
    """A loop is two: what it begins with, and the loop. A function may be as many as it has."""
    if isinstance(node, syntax.ExpressionStatement):
        return (_named(_simple(node.expression, order, scope), node.names),)
    if isinstance(node, syntax.Return):
        return (Return(node.position, node.of_function),)
    if isinstance(node, syntax.Inlined):
        return inlining.inlined(node.position, _block(node.body, order, scope, False))
    if not scope.options.branches:
        raise DError("D_SYNTAX", f'syntax error near "{_keyword(node)}"', node.position)
    if isinstance(node, syntax.If):
        return (_if(node, order, scope, in_loop),)
    if isinstance(node, syntax.Loop):
        return _loop(node, order, scope)
    if not in_loop:
        raise DError("D_SYNTAX", f"{_keyword(node)} outside of a loop", node.position)
    return (Leave(node.position, node.is_break),)


def _named(statement: Statement, names: tuple[str, ...]) -> Statement:
    is_named = bool(names) and isinstance(statement, (Aggregate, Print, Printf, Trace, Tracemem))
    return statement._replace(names=names) if is_named else statement


def _keyword(node: syntax.If | syntax.Loop | syntax.Leave) -> str:
    if isinstance(node, syntax.Leave):
        return "break" if node.is_break else "continue"
    return "if" if isinstance(node, syntax.If) else "for"


def _if(node: syntax.If, order: ActionOrder, scope: Scope, in_loop: bool) -> Statement:
    test = _condition(node.test, scope)
    branches: list[tuple[Statement, ...]] = []

    def check(nodes: tuple[syntax.Statement, ...]) -> Callable[[], None]:
        return lambda: branches.append(_block(nodes, order, scope, in_loop))

    order.branches(check(node.then), check(node.otherwise))
    return If(node.position, test, *branches)


def _loop(node: syntax.Loop, order: ActionOrder, scope: Scope) -> tuple[Statement, ...]:
    initial = () if node.initial is None else (_simple(node.initial, order, scope),)
    with order.looping():
        test = None if node.test is None else _condition(node.test, scope)
        body = _block(node.body, order, scope, True)
        step = () if node.step is None else (_simple(node.step, order, scope),)
    return (*initial, Loop(node.position, test, body, step))


def _condition(node: syntax.Expr, scope: Scope) -> Expr:
    operand = expression(node, scope)
    note_assignment(node, scope)
    if not is_scalar_test(operand):
        raise DError("D_PRED_SCALAR", "condition must be of scalar type", node.position)
    return value_of(operand)


def _simple(node: syntax.Expr, order: ActionOrder, scope: Scope) -> Statement:
    inner = chosen(node, scope)
    if isinstance(inner, syntax.Assign) and inner.op == "=" and isinstance(inner.target, syntax.Aggregation):
        return _aggregation(inner, order, scope)
    return _from_operand(expression(inner, scope), order, scope)


def _aggregation(node: syntax.Assign, order: ActionOrder, scope: Scope) -> Statement:
    assert isinstance(node.target, syntax.Aggregation)
    result = aggregate(aggregation_use(node.target), expression(node.value, scope), scope, node.position)
    order.note("aggregating", node.position)
    return result


def _from_operand(operand: Operand, order: ActionOrder, scope: Scope) -> Statement:
    if isinstance(operand, ActionCall):
        return actions.action(operand, order, scope)
    if isinstance(operand, AggregationUse):
        raise DError("D_AGG_NULL", f"expression has null effect: @{operand.name}", operand.position)
    value = value_of(operand)
    if is_recordable_opaque(value.type):
        order.note("recording", value.position)
        return Trace(value.position, value)
    if isinstance(value, Call) and value.name in DESTRUCTIVE:
        order.note("destructive", value.position)
        order.note("recording", value.position)
    return Evaluate(value.position, value)
