"""Values converted, tested, and constants."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import (
    INT64,
    UINT64,
    base_name,
    is_bool,
    is_composed,
    is_condition,
    is_integer,
    is_scalar,
    is_string,
    is_text,
    smallest,
)
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.errors import Position
from sonde.model.kinds import pointer_like
from sonde.model.program import Expr
from sonde.model.types import (
    INT,
    STRING,
    ULONG,
    VOID,
    Array,
    Member,
    Pointer,
    Struct,
    Type,
    is_signed,
    resolve,
    size_of,
)


def constant(value: int, at: Position, type_: Type | None = None) -> tree.Const:
    """An integer of the smallest type, or of this one."""
    return tree.Const(type_ or smallest(value), at, value)


def wrapped(value: int, type_: Type) -> int:
    """The number as its type holds it."""
    bits = 8 * (size_of(type_) or 8)
    value &= (1 << bits) - 1
    return value - (1 << bits) if is_signed(type_) and value >> (bits - 1) else value


def converted(e: Expr, type_: Type) -> Expr:
    """The value as one of another type that it fits."""
    if e.type == type_:
        return e
    base = resolve(type_)
    if base == resolve(e.type) and isinstance(base, (Array, Struct)):
        return e
    if isinstance(base, Struct) and is_composed(base):
        return _recomposed(e, base)
    if is_text(type_):
        return string(e)
    if isinstance(e, tree.Const) and is_scalar(type_):
        if is_bool(type_):
            return tree.Const(type_, e.position, int(e.value != 0))
        return tree.Const(type_, e.position, wrapped(e.value, type_))
    if is_bool(type_) and not is_bool(e.type):
        zero = tree.Const(ULONG, e.position, 0)
        test = tree.Binary(INT, e.position, "!=", tree.Cast(ULONG, e.position, e), zero)
        return tree.Cast(type_, e.position, test)
    return tree.Cast(type_, e.position, e)


def _recomposed(e: Expr, kind: Struct) -> Expr:
    """A tuple or record as one whose members are wider, or in another order."""
    own = resolve(e.type)
    assert isinstance(own, Struct)
    if isinstance(e, tree.Compose):
        values = e.values
    else:
        values = tuple(tree.MemberOf(each.type, e.position, e, each) for each in own.members)
    named = {member.name: value for member, value in zip(own.members, values, strict=True)}
    return tree.Compose(kind, e.position, tuple(_part(named[each.name], each.type) for each in kind.members))


def _part(value: Expr, kind: Type) -> Expr:
    """A member as one of another type; arrays become longer where they are composed."""
    base = resolve(kind)
    return value if isinstance(base, Array) and not is_text(base) else converted(value, kind)


def member_of(of: Expr, member: Member, at: Position) -> Expr:
    """A member of a structure or of a tuple, of which values that are variables need not be composed first."""
    if isinstance(of, tree.Compose):
        base = resolve(of.type)
        assert isinstance(base, Struct)
        value = of.values[base.members.index(member)]
        if all(map(_is_variable, of.values)):
            return value
    return tree.MemberOf(member.type, at, of, member)


def _is_variable(e: Expr) -> bool:
    return isinstance(e, tree.Var) or (isinstance(e, tree.Compose) and all(map(_is_variable, e.values)))


def wide(e: Expr) -> Expr:
    """An integer or pointer in 64 bits, signed as it is."""
    return converted(e, INT64 if is_signed(e.type) else UINT64)


def string(e: Expr) -> Expr:
    """The characters of a string or of an array of them."""
    return e if is_string(e.type) else tree.Cast(STRING, e.position, e)


def test(node: nodes.Expr, scope: BtScope, span: SourceSpan | None) -> Expr:
    """A condition; `span` is where a mistake is told, if not at its expression."""
    e = scope.expression(node, scope)
    if isinstance(e, tree.StringConst):
        return constant(int(bool(e.value)), e.position)
    if not is_condition(e.type):
        raise scope.mistake(f"Invalid condition: {base_name(e.type)}", span or node.at)
    return bare(e)


def bare(e: Expr) -> Expr:
    """A truth value without what makes a `bool` of it: a comparison is a condition as it is."""
    if isinstance(e, tree.Cast) and is_bool(e.type) and isinstance(e.operand, (tree.Binary, tree.Unary)):
        return e.operand
    return e


def integer_value(node: nodes.Expr, scope: BtScope, what: str) -> Expr:
    """An integer, in 64 bits."""
    e = scope.expression(node, scope)
    if not is_integer(e.type):
        raise scope.mistake(f"{what} only supports int arguments ({base_name(e.type)} provided)", scope.call or node.at)
    return wide(e)


def constant_value(node: nodes.Expr, scope: BtScope, what: str) -> int:
    """The value of a literal or a macro argument."""
    e = scope.expression(node, scope)
    if not isinstance(e, tree.Const):
        raise scope.mistake(f"{what} expects a int literal ({base_name(e.type)} provided)", scope.call or node.at)
    return e.value


def arguments_spelled(count: int) -> str:
    """How many arguments, as messages have it."""
    return "one argument" if count == 1 else f"{count or 'no'} arguments"


def is_pointer(e: Expr) -> bool:
    return isinstance(resolve(e.type), Pointer)


def literal_text(node: nodes.Expr | nodes.TypeName, scope: BtScope, what: str, span: SourceSpan) -> bytes:
    """The characters of a string literal."""
    e = None if isinstance(node, nodes.TypeName) else scope.expression(node, scope)
    if not isinstance(e, tree.StringConst):
        given = "" if e is None else f" ({base_name(e.type)} provided)"
        raise scope.mistake(f"{what} expects a string literal{given}", span)
    return e.value


def memory_of(e: Expr) -> Pointer:
    """A pointer into the memory that the place of an object is in; into the kernel's for what has none."""
    root = e
    while isinstance(root, (tree.MemberOf, tree.Index)):
        root = root.object
    base = resolve(root.pointer.type) if isinstance(root, tree.Deref) else None
    return base if isinstance(base, Pointer) else Pointer(VOID)


def of_space(e: Expr) -> Expr:
    """A pointer in memory of the process is one of the process."""
    kind, memory = resolve(e.type), memory_of(e)
    if memory.user and isinstance(kind, Pointer) and not kind.user:
        return tree.Cast(pointer_like(memory, kind.to), e.position, e)
    return e
