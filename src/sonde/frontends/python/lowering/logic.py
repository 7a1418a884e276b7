"""Comparisons, `and`, `or` and conditional expressions, which look at their later parts only where these matter."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from sonde.frontends.d import syntax
from sonde.frontends.python.check.numbers import Comparison, Sign
from sonde.frontends.python.check.signs import Choice
from sonde.frontends.python.lowering.constants import constant
from sonde.frontends.python.lowering.context import Lowering, integer
from sonde.frontends.python.lowering.operands import as_truth, computed, expression, operands, simple
from sonde.frontends.python.lowering.values import ArrayName, Items, KnownName, Nothing, Value
from sonde.model.errors import Position

_COMPARED: dict[type, str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "==",
    ast.IsNot: "!=",
}  # fmt: skip
_MEMBERSHIP = (ast.In, ast.NotIn)

Later = Callable[[], syntax.Expr]
"""Makes an expression, and what has to be done before it, where it is asked for."""


def condition(node: ast.expr, context: Lowering) -> syntax.Expr:
    """An expression of which only the truth matters."""
    if isinstance(node, ast.BoolOp):
        return _junction(node, context)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return negated(condition(node.operand, context), context.at(node))
    return as_truth(expression(node, context))


def _junction(node: ast.BoolOp, context: Lowering) -> syntax.Expr:
    op = "&&" if isinstance(node.op, ast.And) else "||"
    first = condition(node.values[0], context)
    for each in node.values[1:]:
        first = joined(op, first, partial(condition, each, context), context.at(node), context)
    return first


def joined(op: str, first: syntax.Expr, then: Later, at: Position, context: Lowering) -> syntax.Expr:
    """`first && then` or `first || then`, conditions both."""
    is_and = op == "&&"
    if isinstance(first, syntax.Integer):
        return then() if bool(first.value) == is_and else integer(int(not is_and), at)
    with context.block() as before:
        second = then()
    if not before:
        return syntax.Binary(at, op, first, second)
    result = context.kept(syntax.Conditional(at, first, integer(1, at), integer(0, at)))
    with context.block() as body:
        body += before
        context.set(result, syntax.Conditional(at, second, integer(1, at), integer(0, at)))
    test: syntax.Expr = result if is_and else syntax.Unary(at, "!", result)
    context.emit(syntax.If(at, test, tuple(body), ()))
    return result


def boolean(node: ast.BoolOp, context: Lowering) -> Value:
    """Python's own: the value that decides it."""
    if all(_is_truth(each) for each in node.values):
        return _junction(node, context)
    return _decided(node.values, isinstance(node.op, ast.And), context.at(node), context)


def _is_truth(node: ast.expr) -> bool:
    """Whether its value is nothing but a truth."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if isinstance(node, ast.BoolOp):
        return all(map(_is_truth, node.values))
    return isinstance(node, ast.Compare) or (isinstance(node, ast.Constant) and isinstance(node.value, bool))


def _decided(nodes: list[ast.expr], is_and: bool, at: Position, context: Lowering) -> syntax.Expr:
    if len(nodes) == 1:
        return expression(nodes[0], context)
    first = simple(expression(nodes[0], context), context)
    if isinstance(first, syntax.Integer):
        return _decided(nodes[1:], is_and, at, context) if bool(first.value) == is_and else first

    def rest() -> syntax.Expr:
        return _decided(nodes[1:], is_and, at, context)

    def same() -> syntax.Expr:
        return first

    return _chosen(as_truth(first), rest if is_and else same, same if is_and else rest, at, context)


def conditional(node: ast.IfExp, context: Lowering) -> Value:
    test = condition(node.test, context)
    if isinstance(test, syntax.Integer):
        return context.value(node.body if test.value else node.orelse)
    return _chosen(
        test,
        lambda: expression(node.body, context),
        lambda: expression(node.orelse, context),
        context.at(node),
        context,
    )


def _chosen(test: syntax.Expr, then: Later, otherwise: Later, at: Position, context: Lowering) -> syntax.Expr:
    with context.block() as before_then:
        one = then()
    with context.block() as before_otherwise:
        other = otherwise()
    if not before_then and not before_otherwise:
        return Choice(at, test, one, other)
    result = context.new(at)
    for block, made in ((before_then, one), (before_otherwise, other)):
        with context.block() as behind:
            context.set(result, made)
        block += behind
    context.emit(syntax.If(at, test, tuple(before_then), tuple(before_otherwise)))
    return result


def compare(node: ast.Compare, context: Lowering) -> Value:
    at = context.at(node)
    if len(node.ops) > 1:
        left = simple(expression(node.left, context), context)
        return _chain(left, [*zip(node.ops, node.comparators, strict=True)], at, node, context)
    (op,), (comparator,) = node.ops, node.comparators
    known = _with_nothing(op, node.left, comparator, node, context)
    if known is not None:
        return integer(int(known), at)
    if isinstance(op, (ast.Eq, ast.NotEq)) and all(isinstance(each, ast.Tuple) for each in (node.left, comparator)):
        return _tuples(node, op, at, context)
    if not isinstance(op, _MEMBERSHIP):
        left, right = operands([node.left, comparator], context)
        return _made(op, left, right, at)
    left = expression(node.left, context)
    calls = any(isinstance(each, ast.Call) for each in ast.walk(comparator))
    return _compared(op, simple(left, context) if calls else left, comparator, node, context)


def _with_nothing(op: ast.cmpop, left: ast.expr, right: ast.expr, node: ast.Compare, context: Lowering) -> bool | None:
    """What a comparison with None gives, which is known now; None of any other comparison."""
    if not isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        return None
    sides = [_named_now(each, context) for each in (left, right)]
    if not any(isinstance(each, Nothing) for each in sides):
        return None
    if any(each is None for each in sides):
        hint = "what nobody has set is 0, or the empty text: ask `if not x`"
        raise context.mistake(node, "no value of a probe is None", hint)
    return all(isinstance(each, Nothing) for each in sides) == isinstance(op, (ast.Is, ast.Eq))


def _named_now(node: ast.expr, context: Lowering) -> Value | None:
    """What is known now: a constant, or a name of one."""
    if not isinstance(node, (ast.Constant, ast.Name, ast.Attribute)):
        return None
    found = context.value(node)
    return found if isinstance(found, (syntax.Integer, syntax.StringLiteral, Nothing, Items)) else None


def _tuples(node: ast.Compare, op: ast.cmpop, at: Position, context: Lowering) -> syntax.Expr:
    """Tuples are equal if their items are."""
    left, right = (each.elts if isinstance(each, ast.Tuple) else [] for each in (node.left, node.comparators[0]))
    found = operands([*left, *right], context)
    if len(left) != len(right):
        return integer(int(isinstance(op, ast.NotEq)), at)
    made: syntax.Expr = integer(1, at)
    for number, (one, other) in enumerate(zip(found[: len(left)], found[len(left) :], strict=True)):
        same = _made(ast.Eq(), one, other, at)
        made = syntax.Binary(at, "&&", made, same) if number else same
    return negated(made, at) if isinstance(op, ast.NotEq) else made


def _chain(
    left: syntax.Expr, rest: list[tuple[ast.cmpop, ast.expr]], at: Position, node: ast.Compare, context: Lowering
) -> syntax.Expr:
    """`a < b < c`: b is looked at once, and c only where a < b."""
    (op, comparator), *others = rest
    if not others:
        return _compared(op, left, comparator, node, context)
    if isinstance(op, _MEMBERSHIP):
        return joined(
            "&&", _compared(op, left, comparator, node, context), lambda: _unchained(node, context), at, context
        )
    middle = simple(expression(comparator, context), context)
    first = _made(op, left, middle, at)
    return joined("&&", first, lambda: _chain(middle, others, at, node, context), at, context)


def _unchained(node: ast.Compare, context: Lowering) -> syntax.Expr:
    raise context.mistake(node, "`in` is not a part of a chain in a probe", "join two comparisons by `and`")


def _compared(
    op: ast.cmpop, left: syntax.Expr, comparator: ast.expr, node: ast.Compare, context: Lowering
) -> syntax.Expr:
    if isinstance(op, _MEMBERSHIP):
        found = _contained(left, comparator, node, context)
        return negated(found, found.position) if isinstance(op, ast.NotIn) else found
    return _made(op, left, expression(comparator, context), context.at(node))


def _made(op: ast.cmpop, left: syntax.Expr, right: syntax.Expr, at: Position) -> syntax.Expr:
    spelled = _COMPARED[type(op)]
    if isinstance(left, syntax.Integer) and isinstance(right, syntax.Integer):
        a, b = left.value, right.value
        known = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[spelled]
        return integer(int(known), at)
    return Comparison(at, spelled, left, right)


def _contained(left: syntax.Expr, comparator: ast.expr, node: ast.Compare, context: Lowering) -> syntax.Expr:
    at = context.at(node)
    if isinstance(comparator, (ast.List, ast.Set)):
        comparator = ast.copy_location(ast.Tuple(comparator.elts, ast.Load()), comparator)
    if isinstance(comparator, ast.Call) and context.value(comparator.func) == KnownName("builtin", "range"):
        return _within(left, comparator, context)
    found = context.value(comparator)
    if isinstance(found, ArrayName):
        raise context.mistake(
            node, "an associative array does not tell what it has", "elements that are not there are 0"
        )
    if not isinstance(found, Items):
        text = computed(found, comparator, context)
        inside = syntax.Call(at, syntax.Identifier(at, "strstr"), (text, left))
        return syntax.Binary(at, "!=", inside, syntax.Identifier(at, "NULL"))
    one = simple(left, context)
    tests = [Comparison(at, "==", one, computed(each, comparator, context)) for each in found.values]
    made: syntax.Expr = tests[0] if tests else integer(0, at)
    for each in tests[1:]:
        made = syntax.Binary(at, "||", made, each)
    return made


def _within(left: syntax.Expr, given: ast.Call, context: Lowering) -> syntax.Expr:
    """`n in range(start, stop)`."""
    at = context.at(given)
    if given.keywords or not 1 <= len(given.args) <= 2:
        raise context.mistake(given, "a range that is looked into has one or two ends", "start <= n < stop")
    one = simple(left, context)
    start, stop = [integer(0, at), *operands(given.args, context)][-2:]
    return syntax.Binary(at, "&&", Comparison(at, ">=", one, start), Comparison(at, "<", one, stop))


def unary(node: ast.UnaryOp, context: Lowering) -> Value:
    at = context.at(node)
    if isinstance(node.op, ast.Not):
        test = condition(node.operand, context)
        return negated(test, at)
    known = constant(node, context)
    if known is not None:
        return known
    (operand,) = operands([node.operand], context)
    spelled = {ast.USub: "-", ast.Invert: "~", ast.UAdd: "+"}[type(node.op)]
    if isinstance(operand, syntax.Integer):
        return integer({"-": -operand.value, "~": ~operand.value, "+": operand.value}[spelled], at)
    return Sign(at, spelled, operand)


def negated(test: syntax.Expr, at: Position) -> syntax.Expr:
    if isinstance(test, syntax.Integer):
        return integer(int(not test.value), at)
    return syntax.Unary(at, "!", as_truth(test))
