"""Unary, binary and conditional operators on operands checked already: their types, conversions and refusals."""

from __future__ import annotations

from sonde.frontends.d.check import folding
from sonde.frontends.d.check.compatibility import pointers_compatible
from sonde.frontends.d.check.conversions import (
    arithmetic_type,
    as_operand,
    as_word,
    common_type,
    convert,
    convert_to_string,
    decay,
    length_constant,
)
from sonde.frontends.d.check.layout import object_size
from sonde.frontends.d.check.operands import Operand, is_action, is_dynamic, is_zero, value_of
from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.kinds import (
    is_blind_pointer,
    is_integer,
    is_pointer,
    is_scalar,
    is_string,
    is_string_like,
    pointed_to,
    pointer_like,
    spell,
)
from sonde.model.program import Binary, Call, Cast, Comma, Conditional, Const, Expr
from sonde.model.types import INT, LONG, STRING, Pointer, Type, resolve
from sonde.typed import NoReturn

SHIFTS = ("<<", ">>")
_INTEGRAL = ("&", "|", "^", "%")
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_LOGICAL = ("&&", "||", "^^")


def incompatible(op: str, left: Operand, right: Operand, position: Position, hint: str = "") -> NoReturn:
    text = f'operands have incompatible types: "{spell(left.type)}" {op} "{spell(right.type)}"'
    raise DError("D_OP_INCOMPAT", text, position, hint)


def unary(op: str, operand: Operand, position: Position) -> Expr:
    """`+ - ~ !`."""
    if op == "!":
        if not is_scalar(operand.type):
            raise DError("D_OP_SCALAR", "operator ! requires an operand of scalar type", position)
        return folding.unary(INT, position, op, value_of(operand))
    if not is_integer(operand.type):
        tag, what = ("D_OP_INT", "integral") if op == "~" else ("D_OP_ARITH", "arithmetic")
        raise DError(tag, f"operator {op} requires an operand of {what} type", position)
    value = value_of(operand)
    kind = arithmetic_type(value)
    if op == "+":
        return value if kind is value.type else convert(value, kind)
    return folding.unary(kind, position, op, as_operand(value, kind))


def binary(op: str, left: Operand, right: Operand, position: Position, strsize: int) -> Expr:
    if op in _LOGICAL:
        return _logical(op, left, right, position)
    if op in _COMPARISONS:
        return _comparison(op, left, right, position)
    if op in SHIFTS:
        require_integers(op, left, right, position)
        return _shift(op, value_of(left), value_of(right), position)
    if op in _INTEGRAL:
        require_integers(op, left, right, position)
    elif op in ("*", "/"):
        require_arithmetic(op, left, right, position)
    else:
        return _additive(op, left, right, position, strsize)
    return _integers(op, value_of(left), value_of(right), position)


def require_integers(op: str, left: Operand, right: Operand, position: Position) -> None:
    if not (is_integer(left.type) and is_integer(right.type)):
        raise DError("D_OP_INT", f"operator {op} requires operands of integral type", position)


def require_arithmetic(op: str, left: Operand, right: Operand, position: Position) -> None:
    if not (is_integer(left.type) and is_integer(right.type)):
        raise DError("D_OP_ARITH", f"operator {op} requires operands of arithmetic type", position)


def _integers(op: str, left: Expr, right: Expr, position: Position) -> Expr:
    folding.refuse_zero(op, right, position)
    kind = common_type(left, right)
    return folding.binary(kind, position, op, as_operand(left, kind), as_operand(right, kind))


def _shift(op: str, left: Expr, count: Expr, position: Position) -> Expr:
    """A shift has the type of its left operand; the count keeps its own."""
    kind = arithmetic_type(left)
    return folding.binary(kind, position, op, as_operand(left, kind), count)


def _logical(op: str, left: Operand, right: Operand, position: Position) -> Expr:
    if not (is_scalar(left.type) and is_scalar(right.type)):
        raise DError("D_OP_SCALAR", f"operator {op} requires operands of scalar type", position)
    return folding.binary(INT, position, op, value_of(left), value_of(right))


def _comparison(op: str, left: Operand, right: Operand, position: Position) -> Expr:
    if is_integer(left.type) and is_integer(right.type):
        a, b = value_of(left), value_of(right)
        kind = common_type(a, b)
        return folding.binary(INT, position, op, as_operand(a, kind), as_operand(b, kind))
    if compare_as_strings(left, right):
        return Binary(INT, position, op, convert_to_string(value_of(left)), convert_to_string(value_of(right)))
    if not pointers_compatible(left, right):
        incompatible(op, left, right, position)
    return Binary(INT, position, op, *_as_pointers(value_of(left), value_of(right)))


def compare_as_strings(left: Operand, right: Operand) -> bool:
    """True where at least one operand is a string and the other can be one."""
    return is_string_like(left.type) and is_string_like(right.type) and (is_string(left.type) or is_string(right.type))


def _as_pointers(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Both operands as pointers; a constant zero takes the other's type."""
    if is_zero(left):
        other = decay(right)
        return Cast(other.type, left.position, left), other
    if is_zero(right):
        other = decay(left)
        return other, Cast(other.type, right.position, right)
    return decay(left), decay(right)


def _steps(kind: Type) -> bool:
    """True of what pointer arithmetic can step through."""
    return is_string(kind) or (pointed_to(kind) is not None and not is_blind_pointer(kind))


def _additive(op: str, left: Operand, right: Operand, position: Position, strsize: int) -> Expr:
    left_integer, right_integer = is_integer(left.type), is_integer(right.type)
    if left_integer and right_integer:
        return _integers(op, value_of(left), value_of(right), position)
    if _steps(left.type) and right_integer:
        return _moved(op, value_of(left), value_of(right), position, strsize)
    if left_integer and _steps(right.type) and op == "+":
        return _moved(op, value_of(right), value_of(left), position, strsize)
    if _steps(left.type) and _steps(right.type) and op == "-" and pointers_compatible(left, right):
        return _difference(value_of(left), value_of(right), position, strsize)
    return incompatible(op, left, right, position)


def step_of(pointer: Type, strsize: int) -> int:
    """Bytes from one element to the next."""
    to = pointed_to(pointer)
    return object_size(to, strsize) if to is not None else 1


def _moved(op: str, pointer: Expr, count: Expr, position: Position, strsize: int) -> Expr:
    """Of a string what begins there."""
    if not is_string(pointer.type):
        return offset(op, pointer, count, position, strsize)
    distance = as_word(count) if op == "+" else folding.unary(LONG, position, "-", as_operand(count, LONG))
    if isinstance(pointer, Call) and pointer.name == "__moved":
        pointer, before = pointer.arguments
        distance = folding.binary(LONG, position, "+", as_operand(before, LONG), as_operand(distance, LONG))
    return Call(STRING, position, "__moved", (pointer, distance))


def offset(op: str, pointer: Expr, count: Expr, position: Position, strsize: int) -> Expr:
    """`pointer + count` or `pointer - count`, the count scaled to bytes."""
    base = decay(pointer)
    return Binary(base.type, position, op, base, scaled(count, step_of(base.type, strsize), position))


def scaled(count: Expr, step: int, position: Position) -> Expr:
    word = as_word(count)
    if step == 1:
        return word
    return folding.binary(word.type, position, "*", word, convert(length_constant(step, position), word.type))


def _difference(left: Expr, right: Expr, position: Position, strsize: int) -> Expr:
    a, b = decay(left), decay(right)
    step = step_of(a.type, strsize)
    if step == 0:
        return incompatible("-", left, right, position)
    distance = Binary(LONG, position, "-", Cast(LONG, a.position, a), Cast(LONG, b.position, b))
    return distance if step == 1 else Binary(LONG, position, "/", distance, Const(LONG, position, step))


def conditional(test: Operand, then: Operand, otherwise: Operand, position: Position) -> Expr:
    if not is_scalar_test(test):
        raise DError("D_OP_SCALAR", "operator ?: expression must be of scalar type", position)
    if is_dynamic(then) or is_dynamic(otherwise):
        raise DError("D_OP_DYN", "operator ?: operands cannot be of dynamic type", position)
    kind = _conditional_type(then, otherwise)
    if kind is None:
        raise DError("D_OP_INCOMPAT", "operator ?: operands must have compatible types", position)
    if is_action(then) or is_action(otherwise):
        raise DError("D_OP_ACT", "action cannot be used in a conditional context", position)
    return Conditional(
        kind, position, value_of(test), _branch(value_of(then), kind), _branch(value_of(otherwise), kind)
    )


def is_scalar_test(operand: Operand) -> bool:
    """What a condition may be."""
    return is_scalar(operand.type)


def _conditional_type(then: Operand, otherwise: Operand) -> Type | None:
    if is_integer(then.type) and is_integer(otherwise.type):
        return common_type(value_of(then), value_of(otherwise))
    if compare_as_strings(then, otherwise):
        return STRING
    if pointers_compatible(then, otherwise):
        return _common_pointer(then, otherwise)
    if resolve(then.type) is resolve(otherwise.type):
        return then.type
    return None


def _common_pointer(then: Operand, otherwise: Operand) -> Type:
    """The more specific of two compatible pointer types."""
    for operand, other in ((then, otherwise), (otherwise, then)):
        if is_zero(other) or (is_blind_pointer(other.type) and not is_blind_pointer(operand.type)):
            return _decayed(operand.type)
    return _decayed(then.type)


def _decayed(kind: Type) -> Type:
    if is_string(kind):
        return STRING
    to = pointed_to(kind)
    return kind if is_pointer(kind) or to is None else pointer_like(kind, to)


def _branch(value: Expr, kind: Type) -> Expr:
    if is_string(kind):
        return convert_to_string(value)
    if isinstance(resolve(kind), Pointer):
        return Cast(kind, value.position, value) if is_zero(value) else decay(value)
    return value


def comma(left: Operand, right: Operand, position: Position) -> Expr:
    if is_dynamic(left) or is_dynamic(right):
        raise DError("D_OP_DYN", "operator , operands cannot be of dynamic type", position)
    if is_action(left) or is_action(right):
        raise DError("D_OP_ACT", "operator , operands cannot be actions", position)
    a, b = value_of(left), value_of(right)
    return Comma(b.type, position, a, b)
