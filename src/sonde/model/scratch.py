"""Which expressions are pointers into a clause's scratch memory: those that alloca() and copyin() gave, and what is
computed from them."""

from __future__ import annotations

from collections.abc import Mapping

from sonde.model.program import (
    AddressOf,
    Assign,
    Binary,
    Call,
    Cast,
    Comma,
    Conditional,
    Deref,
    Element,
    Expr,
    Increment,
    Index,
    MemberOf,
    Var,
)
from sonde.model.types import Array, resolve

GIVE_SCRATCH = frozenset({"alloca", "copyin"})
"""Subroutines whose result is scratch memory."""


def is_scratch(expression: Expr, variables: Mapping[int, bool]) -> bool:
    """True of a pointer into scratch memory; `variables` tells by their ids which variables hold such ones.

    A pointer that is loaded from memory, scratch memory included, is not known to be one.
    """
    if isinstance(expression, Call):
        return expression.name in GIVE_SCRATCH
    if isinstance(expression, (Var, Element)):
        return variables.get(expression.variable.id, False)
    if isinstance(expression, Cast):
        return is_scratch(expression.operand, variables)
    if isinstance(expression, Binary):
        return _is_moved(expression, variables)
    if isinstance(expression, Conditional):
        return is_scratch(expression.then, variables) or is_scratch(expression.otherwise, variables)
    if isinstance(expression, Comma):
        return is_scratch(expression.right, variables)
    if isinstance(expression, Assign):
        return is_scratch(expression.target if expression.op else expression.value, variables)
    if isinstance(expression, Increment):
        return is_scratch(expression.target, variables)
    if isinstance(expression, AddressOf):
        return lies_in_scratch(expression.object, variables)
    return isinstance(resolve(expression.type), Array) and lies_in_scratch(expression, variables)


def _is_moved(sum_: Binary, variables: Mapping[int, bool]) -> bool:
    """Pointer arithmetic; C lets the pointer of a sum stand on either side."""
    if sum_.op == "+":
        return is_scratch(sum_.left, variables) or is_scratch(sum_.right, variables)
    return sum_.op == "-" and is_scratch(sum_.left, variables)


def lies_in_scratch(lvalue: Expr, variables: Mapping[int, bool]) -> bool:
    """True of an object in scratch memory: behind such a pointer, or part of what is."""
    while isinstance(lvalue, (MemberOf, Index)):
        lvalue = lvalue.object
    return isinstance(lvalue, Deref) and is_scratch(lvalue.pointer, variables)
