"""Expressions of constants alone: Python computes them, and their value has to fit."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from sonde.frontends.d import syntax
from sonde.frontends.python.captured import Meaning
from sonde.frontends.python.lowering.context import Lowering, integer
from sonde.frontends.python.lowering.names import dotted, global_name

_COMPUTED: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
_SIGNS: dict[type, Callable[[int], int]] = {ast.USub: operator.neg, ast.Invert: operator.inv, ast.UAdd: operator.pos}

_MOST_BITS = 1 << 12
"""Of a number on the way to one of 64 bits."""


def constant(node: ast.BinOp | ast.UnaryOp, context: Lowering) -> syntax.Integer | None:
    """The value of constants, computed as Python does. None where a part is no constant, or where the operation itself
    is a mistake. Raises PythonError where the value does not fit 64 bits."""
    found = _value(node, context)
    return None if found is None else integer(found, context.at(node))


def _value(node: ast.expr, context: Lowering) -> int | None:
    match node:
        case ast.Constant(value=int(value)):
            return int(value)
        case ast.Name() | ast.Attribute():
            meaning = _captured(node, context)
            return int(meaning.value) if meaning is not None and meaning.kind == "integer" else None
        case ast.UnaryOp():
            made = _SIGNS.get(type(node.op))
            of = _value(node.operand, context) if made is not None else None
            return None if made is None or of is None else made(of)
        case ast.BinOp():
            left, right = _value(node.left, context), _value(node.right, context)
            return None if left is None or right is None else _computed(node, left, right, context)
    return None


def _computed(node: ast.BinOp, left: int, right: int, context: Lowering) -> int | None:
    made = _COMPUTED.get(type(node.op))
    if made is None:
        return None
    if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
        return made(left, right) if right else None
    if isinstance(node.op, (ast.LShift, ast.RShift, ast.Pow)):
        if right < 0:
            return None
        grown = {ast.LShift: left.bit_length() + right, ast.Pow: left.bit_length() * right}.get(type(node.op), 0)
        if grown > _MOST_BITS and (abs(left) > 1 or isinstance(node.op, ast.LShift)) and left:
            raise context.mistake(node, "this number does not fit 64 bits")
    return made(left, right)


def _captured(node: ast.Name | ast.Attribute, context: Lowering) -> Meaning | None:
    """What a name means that is no variable of the program."""
    found = dotted(node)
    if found is None:
        return None
    first, whole = found
    frame = context.frame
    if first in frame.bound or first in frame.function.own or global_name(context.captured, first) in context.written:
        return None
    return context.captured.names.get(whole)
