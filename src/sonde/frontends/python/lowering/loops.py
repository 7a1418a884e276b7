"""Loops: `for` over a range, and `while`."""

from __future__ import annotations

import ast

from sonde.frontends.d import syntax
from sonde.frontends.python.check.numbers import Comparison
from sonde.frontends.python.check.signs import Compound
from sonde.frontends.python.lowering.context import Lowering, integer
from sonde.frontends.python.lowering.logic import condition, negated
from sonde.frontends.python.lowering.operands import operands
from sonde.frontends.python.lowering.values import KnownName


def for_range(node: ast.For, context: Lowering) -> None:
    start, stop, step = _range(node, context)
    target = node.target
    frame, at = context.frame, context.at(node)
    if not isinstance(target, ast.Name):
        raise context.mistake(
            target, "range() gives one number after the other", "name it by one name: for n in range(10)"
        )
    if target.id in frame.function.shared:
        raise context.mistake(target, "a loop's variable is the function's own", "set the other one in the loop")
    stop = stop if isinstance(stop, syntax.Integer) else context.kept(stop)
    variable = frame.variable(target.id, at)
    counter = variable if _is_counter(node, target.id, frame.function.tree) else context.new(at)
    block = _body(node, target.id, None if counter is variable else (variable, counter), context)
    context.emit(
        syntax.Loop(
            at, context.assignment(counter, start), Comparison(at, "<" if step > 0 else ">", counter, stop),
            Compound(at, "+", counter, integer(step, at), context.typed), block,
        )
    )  # fmt: skip


def _range(node: ast.For, context: Lowering) -> tuple[syntax.Expr, syntax.Expr, int]:
    """The ends, and the step."""
    given = node.iter
    if not isinstance(given, ast.Call) or context.value(given.func) != KnownName("builtin", "range"):
        raise context.mistake(given, "a loop of a probe goes over a range", "for n in range(10):")
    if given.keywords or not 1 <= len(given.args) <= 3:
        raise context.mistake(given, "range() takes one to three numbers")
    found = operands(given.args, context)
    at = context.at(given)
    step = found[2] if len(found) > 2 else integer(1, at)
    if not isinstance(step, syntax.Integer) or not step.value:
        raise context.mistake(given, "the step of a range is a constant that is not 0", "range(0, n, 2)")
    start, stop = (integer(0, at), found[0]) if len(found) == 1 else (found[0], found[1])
    return start, stop, step.value


def _is_counter(node: ast.For, name: str, function: ast.FunctionDef) -> bool:
    """Whether the loop's variable may count: nothing else sets it, and nothing looks at it outside of the loop."""
    within = {id(each) for statement in node.body for each in ast.walk(statement)}
    uses = [each for each in ast.walk(function) if isinstance(each, ast.Name) and each.id == name]
    return all(id(each) in within and isinstance(each.ctx, ast.Load) for each in uses if each is not node.target)


def _body(
    node: ast.For | ast.While, name: str, counted: tuple[syntax.Expr, syntax.Expr] | None, context: Lowering
) -> tuple[syntax.Statement, ...]:
    """What is done again and again. It may be done never: what it sets need not be set behind it."""
    frame = context.frame
    before, bound = frame.assigned, dict(frame.bound)
    frame.assigned = {*(before or ()), *([name] if name else [])}
    frame.bound.pop(name, None)
    frame.loops += 1
    with context.block() as block:
        if counted is not None:
            context.set(*counted)
        context.body(node.body)
    frame.loops -= 1
    frame.assigned, frame.bound = before, bound
    return tuple(block)


def while_true(node: ast.While, context: Lowering) -> None:
    at = context.at(node)
    with context.block() as before:
        test = condition(node.test, context)
    block = _body(node, "", None, context)
    if before:
        leave = syntax.If(at, negated(test, at), (syntax.Leave(at, True),), ())
        block, asked = (*before, leave, *block), None
    else:
        asked = test
    context.emit(syntax.Loop(at, None, asked, None, block))
