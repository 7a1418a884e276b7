"""Conditions, straight into jumps: comparisons, logical operators, truth of scalars and strings."""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.expressions import strings, whole_objects
from sonde.codegen.expressions.integers import compared
from sonde.codegen.intermediate.ir import Imm
from sonde.model import program as tree
from sonde.model.types import Array, Pointer, String, Struct, is_signed, resolve
from sonde.model.walk import is_zero
from sonde.typed import Any

_SIGNED = {"<": "slt", "<=": "sle", ">": "sgt", ">=": "sge"}
_UNSIGNED = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
COMPARISONS = {"==": "eq", "!=": "ne"}


def binary(g: Generation, e: tree.Expr, then: int, otherwise: int) -> None:
    assert isinstance(e, tree.Binary)
    if e.op in ("&&", "||"):
        _short_circuit(g, e, then, otherwise)
    elif e.op == "^^":
        _exclusive(g, e, then, otherwise)
    elif e.op in COMPARISONS or e.op in _SIGNED:
        _compare(g, e, then, otherwise)
    else:
        g.b.branch("ne", g.value(e), Imm(0), then, otherwise)


def is_condition(e: tree.Binary) -> bool:
    """Whether the operator gives a truth value."""
    return e.op in ("&&", "||", "^^") or e.op in COMPARISONS or e.op in _SIGNED


def _short_circuit(g: Generation, e: tree.Binary, then: int, otherwise: int) -> None:
    middle = g.b.label()
    if e.op == "&&":
        truth(g, e.left, middle, otherwise)
    else:
        truth(g, e.left, then, middle)
    g.b.place(middle)
    truth(g, e.right, then, otherwise)


def _exclusive(g: Generation, e: tree.Binary, then: int, otherwise: int) -> None:
    yes, no = g.b.label(), g.b.label()
    truth(g, e.left, yes, no)
    g.b.place(yes)
    truth(g, e.right, otherwise, then)
    g.b.place(no)
    truth(g, e.right, then, otherwise)


def _compare(g: Generation, e: tree.Binary, then: int, otherwise: int) -> None:
    if isinstance(resolve(e.left.type), String):
        strings.compare(g, e, then, otherwise)
        return
    if isinstance(resolve(e.left.type), (Array, Struct)):
        whole_objects.compare(g, e, then, otherwise)
        return
    text = _compared_with_null(e)
    if text is not None:
        strings.truth(g, text, *((otherwise, then) if e.op == "==" else (then, otherwise)))
        return
    if e.op in COMPARISONS:
        left, right = compared(g, e.left), compared(g, e.right)
    else:
        # Neither of the two ways covers the other: with numbers that are used again they would double all that follows.
        left, right = g.b.unlinked(g.value(e.left)), g.b.unlinked(g.value(e.right))
    signed = is_signed(e.left.type) and not isinstance(resolve(e.left.type), Pointer)
    op = COMPARISONS.get(e.op) or (_SIGNED if signed else _UNSIGNED)[e.op]
    g.b.branch(op, left, right, then, otherwise)


def _compared_with_null(e: tree.Binary) -> tree.Expr | None:
    """The string that is compared with NULL, which is what one that was never set equals."""
    if e.op not in COMPARISONS:
        return None
    for one, other in ((e.left, e.right), (e.right, e.left)):
        if isinstance(one, tree.Cast) and isinstance(resolve(one.operand.type), String) and is_zero(other):
            return one.operand
    return None


def truth(g: Generation, e: tree.Expr, then: int, otherwise: int) -> None:
    """An operand of a logical operator: a number other than 0, a string that is set."""
    if isinstance(resolve(e.type), String):
        strings.truth(g, e, then, otherwise)
    else:
        g.branch(e, then, otherwise)


def unary(g: Generation, e: tree.Expr, then: int, otherwise: int) -> None:
    assert isinstance(e, tree.Unary)
    if e.op == "!":
        truth(g, e.operand, otherwise, then)
    else:
        g.b.branch("ne", g.value(e), Imm(0), then, otherwise)


def constant(g: Generation, e: tree.Expr, then: int, otherwise: int) -> None:
    assert isinstance(e, tree.Const)
    g.b.jump(then if e.value else otherwise)


HANDLERS: dict[type, Any] = {
    tree.Binary: binary,
    tree.Unary: unary,
    tree.Const: constant,
}
"""Which function generates which kind of node."""
