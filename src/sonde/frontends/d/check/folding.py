"""Operators on integer constants, computed while the program is compiled, in 64 bits as the program does."""

from __future__ import annotations

from collections.abc import Callable

from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.program import Binary, Const, Expr, Unary
from sonde.model.ranges import word, wrap
from sonde.model.types import INT, LONG, ULONG, Type, is_signed


def _quotient(a: int, b: int) -> int:
    """Division as C does it: toward zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _quotient,
    "%": lambda a, b: a - b * _quotient(a, b),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "&&": lambda a, b: bool(a and b),
    "||": lambda a, b: bool(a or b),
    "^^": lambda a, b: bool(a) != bool(b),
}


_COUNT = 63
"""A shift is one of 64 bits, whatever the type, as it is in BPF: so many low bits of its count matter."""


def _shifted(op: str, value: int, count: int) -> int:
    count &= _COUNT
    return value << count if op == "<<" else value >> count


def refuse_zero(op: str, right: Expr, position: Position) -> None:
    """Division by a constant zero is an error even where it is never computed."""
    if op in ("/", "%") and isinstance(right, Const) and right.value == 0:
        raise DError("D_DIV_ZERO", "expression contains division by zero", position)


def binary(kind: Type, position: Position, op: str, left: Expr, right: Expr) -> Expr:
    """The node, or the constant it amounts to; operands are converted already."""
    if not isinstance(left, Const) or not isinstance(right, Const):
        return Binary(kind, position, op, left, right)
    if op in _COMPARISONS:
        return Const(INT, position, int(_COMPARISONS[op](left.value, right.value)))
    value = _shifted(op, left.value, right.value) if op in ("<<", ">>") else _ARITHMETIC[op](left.value, right.value)
    return _folded(kind, position, value, is_signed(kind) or op == "<<")


def _folded(kind: Type, position: Position, value: int, may_widen: bool) -> Const:
    """A constant, which has a type of 64 bits where `kind` does not hold it, as a literal has: 5 * 1000000000, 1 << 63.
    (What is cut off below zero of an unsigned type is meant to be.)"""
    value = word(value, kind)
    if may_widen and wrap(value, kind) != value:
        kind = LONG if is_signed(kind) else ULONG
    return Const(kind, position, value)


def unary(kind: Type, position: Position, op: str, operand: Expr) -> Expr:
    if not isinstance(operand, Const):
        return Unary(kind, position, op, operand)
    value = operand.value
    if op == "!":
        return Const(INT, position, int(not value))
    return _folded(kind, position, -value if op == "-" else ~value, is_signed(kind))


def constant_value(operand: object) -> int | None:
    """The value of an integer constant expression, None if it is not one."""
    return operand.value if isinstance(operand, Const) else None
