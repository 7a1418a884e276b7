"""C's conversions, made visible: promotion, the usual arithmetic conversions, decay of arrays, casts of constants."""

from __future__ import annotations

from sonde.lang.check.kinds import is_array, is_integer, is_string, pointer_like
from sonde.lang.errors import Position
from sonde.lang.program import Cast, Const, Deref, Expr, Index, MemberOf, ProbeVariable, StringConst
from sonde.lang.types import (
    CHAR,
    INT,
    LONG,
    STRING,
    ULONG,
    Array,
    Enum,
    Int,
    Pointer,
    Type,
    is_signed,
    resolve,
    size_of,
)


def wrap(value: int, kind: Type) -> int:
    """`value` reduced to the range of the integer type `kind`."""
    base = resolve(kind)
    if isinstance(base, Int) and base.name == "_Bool":
        return int(value != 0)
    bits = 8 * size_of(kind)
    value &= (1 << bits) - 1
    return value - (1 << bits) if is_signed(kind) and value >> (bits - 1) else value


def promoted(expression: Expr) -> Type:
    """The type of an integer after the integer promotions; a bit-field that fits int becomes int."""
    kind = expression.type
    if isinstance(expression, MemberOf) and expression.member.bits:
        bits = expression.member.bits
        if bits < 32 or (bits == 32 and is_signed(kind)):
            return INT
    return promoted_type(kind)


def promoted_type(kind: Type) -> Type:
    return INT if size_of(kind) < 4 or isinstance(resolve(kind), Enum) else kind


def common_type(left: Expr, right: Expr) -> Type:
    """What both integer operands of an operator are converted to."""
    a, b = promoted(left), promoted(right)
    if size_of(a) != size_of(b):
        return a if size_of(a) > size_of(b) else b
    if is_signed(a) == is_signed(b):
        return a
    return b if is_signed(a) else a


def same_representation(left: Type, right: Type) -> bool:
    a, b = resolve(left), resolve(right)
    if isinstance(a, (Int, Enum)) and isinstance(b, (Int, Enum)):
        is_bool = [isinstance(k, Int) and k.name == "_Bool" for k in (a, b)]
        return (a.size, a.signed, is_bool[0]) == (b.size, b.signed, is_bool[1])
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        return a.user == b.user
    return a is b or (type(a) is type(b) and a == b)


def convert(expression: Expr, kind: Type) -> Expr:
    """`expression` as a value of type `kind`; nothing is added where the representation is the same already."""
    if isinstance(expression, Const) and is_integer(kind):
        return Const(kind, expression.position, wrap(expression.value, kind))
    if same_representation(expression.type, kind):
        return expression
    return Cast(kind, expression.position, expression)


def convert_to_string(expression: Expr) -> Expr:
    return expression if is_string(expression.type) else Cast(STRING, expression.position, expression)


def decay(expression: Expr) -> Expr:
    """An array as a pointer to its first element, a string as a pointer to its characters."""
    kind = expression.type
    if is_string(kind):
        return Cast(Pointer(CHAR), expression.position, expression)
    if not is_array(kind):
        return expression
    base = resolve(kind)
    assert isinstance(base, Array)
    return Cast(pointer_like(address_space(expression), base.of), expression.position, expression)


def address_space(expression: Expr) -> Type:
    """A type that is a user pointer where the object `expression` lies in the traced process."""
    while isinstance(expression, (MemberOf, Index)):
        expression = expression.object
    if isinstance(expression, ProbeVariable) and expression.is_in_memory:
        return Pointer(expression.type, True)
    return expression.pointer.type if isinstance(expression, Deref) else expression.type


def as_word(expression: Expr) -> Expr:
    """A scalar as a 64-bit integer, as pointer arithmetic takes it."""
    if is_integer(expression.type):
        return convert(expression, LONG if is_signed(promoted(expression)) else ULONG)
    return expression


def constant(value: int, position: Position, kind: Type = INT) -> Const:
    return Const(kind, position, wrap(value, kind))


def length_constant(value: int, position: Position) -> Const:
    return Const(ULONG, position, value)


def string_size(expression: Expr, strsize: int) -> int:
    """Bytes that sizeof gives for a string: a literal's own, else the option's."""
    return len(expression.value) + 1 if isinstance(expression, StringConst) else strsize


def smallest_int(value: int) -> Type:
    """The type of a decimal constant of that value."""
    if -(1 << 31) <= value < 1 << 31:
        return INT
    return LONG if -(1 << 63) <= value < 1 << 63 else ULONG
