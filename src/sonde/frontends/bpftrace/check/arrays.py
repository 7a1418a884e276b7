"""Arrays and integers cast to each other, and arrays, tuples and structures compared."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.conversions import constant, converted, memory_of, wrapped
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.tuples import text_size
from sonde.frontends.bpftrace.check.types import (
    integer,
    is_composed,
    is_integer,
    is_object,
    is_string,
    is_text,
    merged,
    spelled,
    structure_of,
)
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.model import program as tree
from sonde.model.kinds import pointer_like
from sonde.model.program import Expr
from sonde.model.types import CHAR, INT, Array, Member, Struct, Type, is_signed, resolve, size_of

_SIZES = (1, 2, 4, 8)


def array_cast(kind: Type, operand: Expr, span: SourceSpan, scope: BtScope) -> Expr | None:
    """A cast between integers and arrays of them; None where it is none."""
    to, of = resolve(kind), resolve(operand.type)
    if isinstance(to, Array) and is_integer(to.of) and is_integer(of):
        return _array_of(to, operand, span, scope)
    if isinstance(to, Array) and is_integer(to.of) and isinstance(of, Array) and is_object(of):
        whole = _sized(to, size_of(of), operand, span, scope)
        return _reread(whole, operand)
    if isinstance(of, Array) and is_integer(kind) and is_object(of):
        if isinstance(operand, tree.Compose):
            return converted(operand.values[0], kind)
        _require_size(kind, size_of(of), operand, span, scope)
        return _reread(kind, operand)
    if isinstance(to, Array) and is_integer(to.of) and not is_text(to) and is_string(operand.type):
        return _characters(to, operand, span, scope)
    return None


def _characters(kind: Array, text: Expr, span: SourceSpan, scope: BtScope) -> Expr:
    """The bytes of a string and of its NUL."""
    whole = _sized(kind, text_size(text, scope), text, span, scope)
    if isinstance(text, tree.StringConst):
        return tree.StringConst(whole, text.position, text.value.ljust(size_of(whole), b"\0"))
    made = structure_of("tuple", ("0",), (Array(CHAR, size_of(whole)),))
    return tree.MemberOf(whole, text.position, tree.Compose(made, text.position, (text,)), Member("0", whole, 0))


def _array_of(kind: Array, operand: Expr, span: SourceSpan, scope: BtScope) -> Expr:
    size = size_of(operand.type)
    if isinstance(operand, tree.Const) and size_of(kind) in _SIZES:
        # A literal is as wide as it has to be.
        size = max(size, size_of(kind))
    whole = _sized(kind, size, operand, span, scope)
    number = integer(size, is_signed(operand.type))
    if isinstance(operand, tree.Const):
        value: Expr = constant(wrapped(operand.value, number), operand.position, number)
    else:
        value = converted(operand, number)
    return tree.Compose(whole, operand.position, (value,))


def _sized(kind: Array, size: int, operand: Expr, span: SourceSpan, scope: BtScope) -> Type:
    """The array, as long as what it is made of where the program does not say."""
    if kind.length is None and not size % size_of(kind.of):
        return Array(kind.of, size // size_of(kind.of))
    _require_size(kind, size, operand, span, scope)
    return kind


def _require_size(kind: Type, size: int, operand: Expr, span: SourceSpan, scope: BtScope) -> None:
    if size_of(kind) != size:
        raise scope.mistake(f'Cannot cast from "{spelled(operand.type)}" to "{spelled(kind)}"', span)


def _reread(kind: Type, of: Expr) -> Expr:
    """The memory of an object as one of another type."""
    memory = memory_of(of)
    address = tree.AddressOf(pointer_like(memory, of.type), of.position, of)
    return tree.Deref(kind, of.position, tree.Cast(pointer_like(memory, kind), of.position, address))


def compared_objects(op: str, left: Expr, right: Expr) -> Expr | None:
    """== or != of arrays, tuples or structures of one type, None where they are none."""
    if op not in ("==", "!=") or not (is_object(left.type) and is_object(right.type)):
        return None
    kind = merged(left.type, right.type)
    if kind is None or (_has_gaps(kind) and not is_composed(kind)):
        return None
    return tree.Binary(INT, left.position, op, converted(left, kind), converted(right, kind))


def _has_gaps(kind: Type) -> bool:
    """Whether bytes of a structure belong to no member: tuples have zeros there, others anything."""
    base = resolve(kind)
    if isinstance(base, Array):
        return _has_gaps(base.of)
    if not isinstance(base, Struct):
        return False
    used = sum(size_of(each.type) for each in base.members if not each.bits)
    return used != base.size or any(_has_gaps(each.type) for each in base.members)
