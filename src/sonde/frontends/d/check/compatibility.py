"""When a value may stand where another type is expected: pointers, arguments of a prototype, keys, assignments."""

from __future__ import annotations

from sonde.frontends.d.check.operands import Operand, is_dynamic, is_zero
from sonde.model.kinds import (
    compatible,
    is_integer,
    is_recordable_opaque,
    is_string,
    is_string_like,
    is_void,
    pointed_to,
)
from sonde.model.types import CHAR, Function, Struct, Type, resolve


def _target(kind: Type) -> Type | None:
    return CHAR if is_string(kind) else pointed_to(kind)


def pointers_compatible(left: Operand, right: Operand) -> bool:
    """Both pointers (or arrays, or strings) to the same type, one of them to void, or one a constant zero."""
    if is_dynamic(left) or is_dynamic(right):
        return False
    return _pointer_types_compatible(left.type, right.type, is_zero(left), is_zero(right))


def _pointer_types_compatible(left: Type, right: Type, left_zero: bool, right_zero: bool) -> bool:
    a, b = _target(left), _target(right)
    if a is None and b is None:
        return False
    if a is None or b is None:
        return left_zero if a is None else right_zero
    return is_void(a) or is_void(b) or compatible(a, b)


def accepts(expected: Type, operand: Operand) -> bool:
    """True where `operand` may be passed for, or assigned to, the type `expected`."""
    given = operand.type
    if is_integer(expected) and is_integer(given):
        return True
    if is_string_like(expected) and is_string_like(given):
        return True
    if is_recordable_opaque(expected):
        return not is_dynamic(operand) and resolve(expected) == resolve(given)
    if isinstance(resolve(expected), (Function, Struct)):
        return compatible(expected, given)
    return not is_dynamic(operand) and _pointer_types_compatible(expected, given, False, is_zero(operand))
