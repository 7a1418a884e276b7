"""Associative arrays and their keys, and the variables that come into being where they are first assigned to."""

from __future__ import annotations

from sonde.frontends.d.check.assignments import declared_type, stored
from sonde.frontends.d.check.calls import check_count
from sonde.frontends.d.check.compatibility import accepts
from sonde.frontends.d.check.conversions import decay
from sonde.frontends.d.check.operands import Operand, is_dynamic, value_of
from sonde.frontends.d.check.prototypes import Prototype
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.kinds import is_array, is_function, is_recordable_opaque, is_string, is_string_like, is_void, spell
from sonde.model.program import Call, Element, Expr, Var, Variable
from sonde.model.types import STRING, VOID, Type


def element(variable: Variable, keys: tuple[Operand, ...], position: Position) -> Element:
    """An element of an associative array, the keys of the right number and types."""
    assert variable.keys is not None
    check_keys(f"{variable.name}[ ]", variable.keys, keys, position)
    values = tuple(stored(value_of(k), kind) for k, kind in zip(keys, variable.keys, strict=True))
    return Element(variable.type, position, variable, values)


def check_keys(what: str, kinds: tuple[Type, ...], keys: tuple[Operand, ...], position: Position) -> None:
    check_count(what, len(keys), Prototype(VOID, kinds, len(kinds), False), position, "key")
    for number, (key, kind) in enumerate(zip(keys, kinds, strict=True), 1):
        if not accepts(kind, key):
            text = f"{what} key #{number} is incompatible with prototype:\n\tprototype: {spell(kind)}\n"
            raise DError("D_PROTO_ARG", f"{text}\t      key: {spell(key.type)}", position)


def key_value(key: Operand, what: str, number: int, position: Position) -> Expr:
    """A key as it is kept, of an `associative array` or an `aggregation`: characters of an array as a string, other
    arrays by their address."""
    if is_dynamic(key) or is_void(key.type) or is_function(key.type):
        raise _no_key(key, what, number, position)
    value = value_of(key)
    if is_string(value.type) or (is_array(value.type) and is_string_like(value.type)):
        return stored(value, STRING)
    return decay(value)


def _no_key(key: Operand, what: str, number: int, position: Position) -> DError:
    text = f"{spell(key.type)} expression may not be used as {what} index: key #{number}"
    return DError("D_KEY_TYPE", text, position)


def local_array(name: str, position: Position) -> DError:
    return DError("D_ARR_LOCAL", f"local variables may not be used as associative arrays: {name}", position)


def new_array(
    scope: Scope, where: str, name: str, keys: tuple[Operand, ...], value: Type, position: Position
) -> Variable:
    """An associative array that first appears with these keys and holds values of type `value`."""
    if len(keys) > scope.options.most_keys:
        remedy = f"-xtregs={len(keys)} allows so many keys, and so does a declaration of the array"
        raise DError("D_UNKNOWN", "Insufficient tuple registers to generate code", hint=remedy)
    if where == "this":
        raise local_array(name, position)
    for key in keys:
        if is_recordable_opaque(key.type):
            name = key.name if isinstance(key, Call) else "ustack" if getattr(key, "is_user", False) else "stack"
            text = f"tracing function {name}( ) may not be called from a D expression (D program context required)"
            raise DError("D_CG_EXPR", text, key.position)
    values = [key_value(key, "associative array", number, position) for number, key in enumerate(keys, 1)]
    return scope.bring(where, name, value, position, tuple(v.type for v in values))


def new_scalar(scope: Scope, where: str, name: str, value: Operand, position: Position) -> Var:
    """A variable that comes into being by the assignment of `value`."""
    kind = declared_type(value)
    if is_dynamic(value):
        text = f'operands have incompatible types: "scalar" = "{spell(value.type)}"'
        raise DError("D_OP_INCOMPAT", text, value.position)
    if is_void(kind):
        raise DError("D_OP_INCOMPAT", 'operands have incompatible types: "void" = "void"', value.position)
    value_of(value)
    return Var(kind, position, scope.bring(where, name, kind, position))


def undeclared(name: str, position: Position, scope_name: str = "global") -> DError:
    """The error for what is read, or changed, before it is there."""
    name = name if scope_name == "global" else f"{scope_name}->{name}"
    return DError("D_VAR_UNDEF", f"{name} has not yet been declared or assigned", position)
