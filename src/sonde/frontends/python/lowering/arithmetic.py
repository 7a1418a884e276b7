"""Python's arithmetic: in 64 bits, quotients rounded down."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from sonde.frontends.d import syntax
from sonde.frontends.python.check.numbers import Corrected, Operation, Quotient, Remainder
from sonde.frontends.python.lowering.constants import constant
from sonde.frontends.python.lowering.context import Lowering, integer
from sonde.frontends.python.lowering.operands import operands, simple
from sonde.frontends.python.lowering.values import Value
from sonde.model.errors import Position

SPELLED: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<",
    ast.RShift: ">>", ast.FloorDiv: "//", ast.Mod: "%", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@",
}  # fmt: skip

_COMPUTED: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow,
}  # fmt: skip

_LARGEST_SHIFT = 63


def binary(node: ast.BinOp, context: Lowering) -> Value:
    known = constant(node, context)
    if known is not None:
        return known
    left, right = operands([node.left, node.right], context)
    return operation(SPELLED[type(node.op)], left, right, node, context)


def operation(op: str, left: syntax.Expr, right: syntax.Expr, node: ast.AST, context: Lowering) -> syntax.Expr:
    """`left op right`. Raises PythonError."""
    at = context.at(node)
    _require_computable(op, left, right, node, context)
    if isinstance(left, syntax.Integer) and isinstance(right, syntax.Integer):
        return integer(_COMPUTED[op](left.value, right.value), at)
    if op == "**":
        return _power(left, right, node, context)
    if op in ("//", "%"):
        return _divided(op, left, right, at, context)
    return Operation(at, op, left, right)


def _require_computable(op: str, left: syntax.Expr, right: syntax.Expr, node: ast.AST, context: Lowering) -> None:
    if op == "/":
        raise context.mistake(node, "/ makes fractions, and a probe has none", "// divides, and rounds down")
    if op == "@":
        raise context.mistake(node, "@ multiplies matrices, and a probe has none")
    if op == "%" and isinstance(left, syntax.StringLiteral):
        raise context.mistake(node, "% does not format texts in a probe", "write an f-string: f'{name}'")
    if not isinstance(right, syntax.Integer):
        return
    if op in ("//", "%") and right.value == 0:
        raise context.mistake(node, "this divides by zero")
    if op in ("<<", ">>") and not 0 <= right.value <= _LARGEST_SHIFT:
        raise context.mistake(node, "numbers have 64 bits: they are shifted by 0 to 63")
    if op == "**" and not 0 <= right.value <= _LARGEST_POWER:
        raise context.mistake(node, "** takes exponents from 0 to 64", "multiply: n * n")


_LARGEST_POWER = 64


def _power(left: syntax.Expr, right: syntax.Expr, node: ast.AST, context: Lowering) -> syntax.Expr:
    """By squares, from the exponent's first digit on."""
    if not isinstance(right, syntax.Integer):
        raise context.mistake(node, "** takes a constant exponent", "multiply in a loop")
    at = context.at(node)
    if not right.value:
        return integer(1, at)
    base = simple(left, context)
    made: syntax.Expr = base
    for digit in f"{right.value:b}"[1:]:
        made = simple(made, context)
        made = Operation(at, "*", made, made)
        if digit == "1":
            made = Operation(at, "*", made, base)
    return made


def _divided(op: str, left: syntax.Expr, right: syntax.Expr, at: Position, context: Lowering) -> syntax.Expr:
    if isinstance(right, syntax.Integer) and right.value > 0:
        is_power = right.value & (right.value - 1) == 0
        dividend = left if is_power else simple(left, context)
        return (Quotient if op == "//" else Remainder)(at, dividend, right, True)
    dividend, divisor = simple(left, context), simple(right, context)
    remainder = context.kept(Remainder(at, dividend, divisor, False))
    of: syntax.Expr = remainder
    if op == "//":
        of = context.kept(Quotient(at, dividend, divisor, False))
    return Corrected(at, op, of, remainder, divisor)
