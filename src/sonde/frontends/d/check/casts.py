"""Explicit conversions: `(type)x`, stringof, sizeof and offsetof."""

from __future__ import annotations

from sonde.frontends.d.check.conversions import convert, convert_to_string, decay, length_constant, string_size
from sonde.frontends.d.check.layout import object_size
from sonde.frontends.d.check.operands import Operand, is_bitfield, is_dynamic, value_of
from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.kinds import (
    ARRAY_AS_STRING,
    compatible,
    is_function,
    is_integer,
    is_pointer,
    is_recordable_opaque,
    is_scalar,
    is_string,
    is_string_like,
    is_struct,
    is_user,
    is_void,
    pointed_to,
    spell,
)
from sonde.model.program import Cast, Const, Expr, StringConst
from sonde.model.types import BUILTIN_TYPEDEFS, STRING, Pointer, Struct, Type, resolve


def cast(kind: Type, operand: Operand, position: Position) -> Expr:
    """`(kind)operand`; a pointer cast to a pointer stays in its address space."""
    if not _may_cast(kind, operand):
        text = f'invalid cast expression: "{spell(operand.type)}" to "{spell(kind)}"'
        raise DError("D_CAST_INVAL", text, position)
    value = value_of(operand)
    if is_string(kind):
        return convert_to_string(value)
    if is_integer(kind):
        return _to_integer(kind, value, position)
    if is_pointer(kind):
        return _to_pointer(kind, value, position)
    return value if is_struct(kind) else Cast(kind, position, value)


def _may_cast(kind: Type, operand: Operand) -> bool:
    given = operand.type
    if is_dynamic(operand):
        return False
    if is_void(kind):
        return True
    if is_scalar(kind) and (is_scalar(given) or is_function(given)):
        return True
    if is_pointer(kind) and (pointed_to(given) is not None or given is ARRAY_AS_STRING):
        return True
    if is_string(kind) and (is_scalar(given) or is_string_like(given)):
        return True
    return compatible(kind, given)


def _to_integer(kind: Type, value: Expr, position: Position) -> Expr:
    if isinstance(value, Const):
        return convert(value, kind)._replace(position=position)
    return Cast(kind, position, decay(value))


def _to_pointer(kind: Type, value: Expr, position: Position) -> Expr:
    value = decay(value)
    base = resolve(kind)
    if isinstance(base, Pointer) and is_user(value.type) and not base.user:
        kind = base._replace(user=True)
    return Cast(kind, position, value)


def stringof(operand: Operand, position: Position) -> Expr:
    if is_dynamic(operand) or not (is_scalar(operand.type) or is_string_like(operand.type)):
        text = f"cannot apply stringof to a value of type {spell(operand.type)}"
        raise DError("D_STRINGOF_TYPE", text, position)
    value = value_of(operand)
    return value if is_string(value.type) else Cast(STRING, position, value)


def sizeof_type(kind: Type, strsize: int, position: Position) -> Const:
    size = object_size(kind, strsize)
    if size == 0:
        raise DError("D_SIZEOF_TYPE", "cannot apply sizeof to an operand of unknown size", position)
    return _size(size, position)


def sizeof_expression(operand: Operand, strsize: int, position: Position) -> Const:
    if is_bitfield(operand):
        raise DError("D_SIZEOF_BITFIELD", "cannot apply sizeof to a bit-field", position)
    if is_recordable_opaque(operand.type):
        raise DError("D_SIZEOF_TYPE", "cannot apply sizeof to an operand of unknown size", position)
    if isinstance(operand, StringConst):
        return _size(string_size(operand, strsize), position)
    return sizeof_type(operand.type, strsize, position)


def offsetof(kind: Type, member: str, position: Position) -> Const:
    base = resolve(kind)
    if not isinstance(base, Struct) or not base.complete:
        raise DError("D_OFFSETOF_TYPE", "offsetof operand must be a struct or union type", position)
    found = base.find(member)
    if found is None:
        text = f"failed to determine offset of {member}: Member name not found"
        raise DError("D_UNKNOWN", text, position)
    if found.bits:
        raise DError("D_OFFSETOF_BITFIELD", f"cannot take offset of a bit-field: {member}", position)
    return _size(found.offset // 8, position)


def _size(value: int, position: Position) -> Const:
    return length_constant(value, position)._replace(type=BUILTIN_TYPEDEFS["size_t"])
