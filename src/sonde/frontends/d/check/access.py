"""Reaching objects: `*p`, `&x`, `a[i]`, `s.m` and `p->m`."""

from __future__ import annotations

from sonde.frontends.d.check import alike, operators
from sonde.frontends.d.check.conversions import address_space, convert, decay
from sonde.frontends.d.check.operands import AggregationUse, Operand, is_bitfield, is_dynamic, is_lvalue, value_of
from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.kinds import (
    is_array,
    is_function,
    is_integer,
    is_pointer,
    is_string,
    is_void,
    pointed_to,
    pointer_like,
    spell,
)
from sonde.model.program import AddressOf, Builtin, Const, Deref, Element, Expr, Index, MemberOf, ProbeVariable, Var
from sonde.model.types import CHAR, LONG, Array, Opaque, Pointer, Struct, Type, is_signed, resolve

_WORD = (1 << 64) - 1
_WORDS_OF_STRING = 256
"""Characters in the array that a string is to messages, whatever `strsize` is."""


def dereference(operand: Operand, position: Position) -> Expr:
    to = CHAR if is_string(operand.type) else pointed_to(operand.type)
    if to is None:
        raise DError("D_DEREF_NONPTR", "cannot dereference non-pointer type", position)
    if is_void(to):
        raise DError("D_DEREF_VOID", "cannot dereference pointer to void", position)
    if is_function(to):
        raise DError("D_DEREF_FUNC", "cannot dereference pointer to function", position)
    return Deref(to, position, decay(value_of(operand)))


def address_of(operand: Operand, position: Position) -> Expr:
    if isinstance(operand, (Var, Element, Builtin, AggregationUse)):
        raise DError("D_ADDROF_VAR", "cannot take address of dynamic variable", position)
    if is_dynamic(operand):
        raise DError("D_ADDROF_VAR", "cannot take address of dynamic object", position)
    # C has the address of such an array, D does not (K&R A7.4.3): the array is its address.
    is_reached_array = is_array(operand.type) and isinstance(operand, (Deref, Index, MemberOf))
    if is_reached_array or not is_lvalue(operand):
        raise DError("D_ADDROF_LVAL", "unacceptable operand for unary & operator", position)
    if is_bitfield(operand):
        raise DError("D_ADDROF_BITFIELD", "cannot take address of bit-field", position)
    value = value_of(operand)
    if isinstance(value, Deref):
        return value.pointer
    root: Expr = value
    while isinstance(root, (MemberOf, Index)):
        root = root.object
    if isinstance(root, ProbeVariable) and not root.is_in_memory:
        raise DError("D_ADDROF_LVAL", f"{root.name} has no address: it is not in memory at the probe", position)
    return AddressOf(_pointer_to(value), position, value)


def _pointer_to(value: Expr) -> Pointer:
    """The type of the object's address: a user pointer where the object was reached through one."""
    return pointer_like(address_space(value), value.type)


def index(operand: Operand, subscript: Operand, position: Position, strsize: int) -> Expr:
    """`operand[subscript]` of a C array, a string or a pointer."""
    base = resolve(operand.type)
    if not is_integer(subscript.type) or not (is_string(base) or pointed_to(base) is not None):
        return _swapped_index(operand, subscript, position, strsize)
    value, count = value_of(operand), value_of(subscript)
    if isinstance(base, Array):
        _check_bounds(base, count, position)
        return Index(base.of, position, value, convert(count, LONG) if is_signed(count.type) else count)
    if is_string(base):
        return Index(CHAR, position, value, count)
    return dereference(operators.offset("+", value, count, position, strsize), position)


def _swapped_index(operand: Operand, subscript: Operand, position: Position, strsize: int) -> Expr:
    """C's `1[p]`, and the message where neither side is a pointer."""
    return dereference(operators.binary("+", operand, subscript, position, strsize), position)


def _check_bounds(array: Array, subscript: Expr, position: Position) -> None:
    """A constant subscript must be inside; arrays of at most one element may be the open end of a structure."""
    if not isinstance(subscript, Const) or (array.length or 0) < 2:
        return
    assert array.length
    if not 0 <= subscript.value < array.length:
        text = f"index outside array bounds: {subscript.value & _WORD}, max is {array.length}"
        raise DError("D_ARR_BOUNDS", text, position)


def member(operand: Operand, name: str, arrow: bool, position: Position) -> Expr:
    struct = _structure(operand, arrow, position)
    found = struct.find(name)
    if found is None:
        text = f"{name} is not a member of {spell(struct)}"
        known = struct.names()
        raise DError("D_TYPE_MEMBER", text, position, alike.hint(name, known), alike.likely(name, known))
    value = value_of(operand)
    container: Expr = Deref(struct, position, decay(value)) if arrow else value
    return referred(MemberOf(found.type, position, container, found))


def referred(value: Expr) -> Expr:
    """A reference of C++ as what it refers to, as the source has it."""
    base = resolve(value.type)
    return Deref(base.to, value.position, value) if isinstance(base, Pointer) and base.is_reference else value


def _basis(base: Type) -> str:
    """A resolved type as messages show it that look through names."""
    if is_string(base):
        return f"char [{_WORDS_OF_STRING}]"
    return "void" if isinstance(base, Opaque) else spell(base)


def _structure(operand: Operand, arrow: bool, position: Position) -> Struct:
    op = "->" if arrow else "."
    kind: Type = operand.type
    if arrow:
        to = pointed_to(kind) if is_pointer(kind) else None
        if to is None:
            raise DError("D_OP_PTR", f"operator {op} must be applied to a pointer", position)
        kind = to
    base = resolve(kind)
    if not isinstance(base, Struct):
        what = "pointer to type" if arrow else "type"
        wanted = "struct or union pointer" if arrow else "struct or union"
        text = f'operator {op} cannot be applied to {what} "{_basis(base)}"; must be applied to a {wanted}'
        raise DError("D_OP_SOU", text, position)
    if not base.complete:
        text = f"operator {op} cannot be applied to a forward declaration: no {spell(base)} definition is available"
        raise DError("D_OP_INCOMPLETE", text, position, hint=base.missing)
    return base
