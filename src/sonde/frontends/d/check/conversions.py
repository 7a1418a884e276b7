"""D's conversions, made visible: the common type of two integers, decay of arrays, casts.

Integers are computed with in 64 bits; a type says which is the larger, and whether they are signed. What a narrower
type holds matters where a value is kept (`model/ranges.py`).
"""

from __future__ import annotations

from sonde.model.errors import Position
from sonde.model.kinds import is_array, is_integer, is_string, pointer_like
from sonde.model.program import Cast, Const, Deref, Expr, Index, MemberOf, ProbeVariable, StringConst
from sonde.model.ranges import is_held, word, wrap
from sonde.model.types import (
    CHAR,
    INT,
    LONG,
    STRING,
    UCHAR,
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


def arithmetic_type(expression: Expr) -> Type:
    """The type that an integer operand counts as: enumerators are `int`, truth values bytes. Nothing is promoted."""
    base = resolve(expression.type)
    if isinstance(base, Enum):
        return INT
    return UCHAR if isinstance(base, Int) and base.name == "_Bool" else expression.type


def common_type(left: Expr, right: Expr) -> Type:
    """The type of what an operator makes of two integers: that of the larger, of two of one size the unsigned one."""
    a, b = arithmetic_type(left), arithmetic_type(right)
    if size_of(a) != size_of(b):
        return a if size_of(a) > size_of(b) else b
    if is_signed(a) == is_signed(b):
        return a
    return b if is_signed(a) else a


def as_operand(expression: Expr, result: Type) -> Expr:
    """An integer as an operator takes it that gives a `result`: all 64 bits of its value, signed if that is."""
    kind = LONG if is_signed(result) else ULONG
    if isinstance(expression, Const):
        return Const(kind, expression.position, word(expression.value, kind))
    return expression if same_representation(expression.type, kind) else Cast(kind, expression.position, expression)


def same_representation(left: Type, right: Type) -> bool:
    a, b = resolve(left), resolve(right)
    if isinstance(a, (Int, Enum)) and isinstance(b, (Int, Enum)):
        is_bool = [isinstance(k, Int) and k.name == "_Bool" for k in (a, b)]
        return (a.size, a.signed, is_bool[0]) == (b.size, b.signed, is_bool[1])
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        return a.user == b.user
    return a == b


def convert(expression: Expr, kind: Type) -> Expr:
    """`expression` as a value of type `kind`; nothing is added where the representation is the same already."""
    if isinstance(expression, Const) and is_integer(kind):
        return Const(kind, expression.position, wrap(expression.value, kind))
    if same_representation(expression.type, kind) and (not is_integer(kind) or is_held(expression)):
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
        return Pointer(expression.type, expression.is_user)
    return expression.pointer.type if isinstance(expression, Deref) else expression.type


def as_word(expression: Expr) -> Expr:
    """A scalar as a 64-bit integer, as pointer arithmetic takes it."""
    return as_operand(expression, arithmetic_type(expression)) if is_integer(expression.type) else expression


def constant(value: int, position: Position, kind: Type = INT) -> Const:
    return Const(kind, position, wrap(value, kind))


def length_constant(value: int, position: Position) -> Const:
    return Const(ULONG, position, value)


def string_size(expression: Expr, strsize: int) -> int:
    """Bytes that sizeof gives for a string: a literal's own, else the option's."""
    return len(expression.value) + 1 if isinstance(expression, StringConst) else strsize
