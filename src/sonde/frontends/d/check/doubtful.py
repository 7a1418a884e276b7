"""Operators that are right as they stand and seldom meant so."""

from __future__ import annotations

from sonde.frontends.d import syntax
from sonde.frontends.d.check.operands import Operand
from sonde.frontends.d.check.scope import Scope
from sonde.model.program import Const

_ORDER = ("<", "<=", ">", ">=")
_EQUALITY = ("==", "!=")
_BITS = ("&", "|", "^")
DOUBTFUL = frozenset((*_ORDER, *_BITS, "/"))
"""The operators that `note_operator` knows of."""


def note_assignment(node: syntax.Expr, scope: Scope) -> None:
    """A test that sets a variable to a constant, and so always has the same result."""
    while isinstance(node, syntax.Binary) and node.op in ("&&", "||"):
        note_assignment(node.left, scope)
        node = node.right
    if isinstance(node, syntax.Assign) and node.op == "=" and scope.constant(node.value) is not None:
        scope.note(node.target.position, "= sets this, whatever it was before", "to compare, write ==")


def note_operator(node: syntax.Binary, left: Operand, right: Operand, result: Operand, scope: Scope) -> None:
    """What the operator may be meant to do, and does not."""
    if node.op == "/":
        _note_quotient(node, result, scope)
    elif node.op in _ORDER:
        if isinstance(node.left, syntax.Binary) and node.left.op in _ORDER:
            text = f"this compares the result of {node.left.op}, 0 or 1"
            scope.note(node.position, text, f"write both comparisons: a {node.left.op} b && b {node.op} c")
    else:
        _note_comparison_first(node, left, right, scope)


def _note_quotient(node: syntax.Binary, result: Operand, scope: Scope) -> None:
    """A quotient of two written numbers that is 0."""
    left, right = node.left, node.right
    is_zero = isinstance(result, Const) and result.value == 0
    if is_zero and isinstance(left, syntax.Integer) and isinstance(right, syntax.Integer) and left.value:
        text = f"{left.value} / {right.value} is 0: D has whole numbers only"
        scope.note(node.position, text, "multiply first, and divide then")


def _note_comparison_first(node: syntax.Binary, left: Operand, right: Operand, scope: Scope) -> None:
    """`flags & 1 == 0`, where the constants are compared first."""
    for side, value, other in ((node.right, right, left), (node.left, left, right)):
        is_equality = isinstance(side, syntax.Binary) and side.op in (*_EQUALITY, *_ORDER)
        if is_equality and isinstance(value, Const) and not isinstance(other, Const):
            assert isinstance(side, syntax.Binary)
            text = f"{side.op} comes before {node.op}: two constants are compared here"
            scope.note(side.position, text, f"write (a {node.op} b) {side.op} c")
