"""Inline definitions: names for expressions, checked anew wherever they are used, with the arguments put in."""

from __future__ import annotations

from sonde.frontends.d import syntax
from sonde.frontends.d.check.assignments import stored
from sonde.frontends.d.check.compatibility import accepts
from sonde.frontends.d.check.declarations import declared
from sonde.frontends.d.check.identifiers import bad_reference
from sonde.frontends.d.check.operands import Operand, TranslatorValue, value_of
from sonde.frontends.d.check.redefinition import refuse_inline
from sonde.frontends.d.check.scope import Inline, Scope
from sonde.frontends.d.check.variables import check_keys
from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.kinds import compatible, is_string, is_void, spell
from sonde.model.program import Const, Deref
from sonde.model.types import Array, Pointer, Type, resolve


def define_inline(node: syntax.InlineDefinition, scope: Scope, trusted: bool) -> None:
    """Add an inline definition; the value of a `trusted` (library) one is first checked where it is used."""
    name = node.declarator.name or ""
    kind, keys, names = declared(node.specifiers, node.declarator, scope)
    refuse_inline(name, scope, node.position)
    if isinstance(resolve(kind), Array):
        what = "requires array tuple signature" if not _has_size(kind) else "cannot be of scalar array type"
        raise DError("D_DECL_ARRNULL", f"inline declaration {what}: {name}", node.position)
    if is_void(kind):
        raise DError("D_DECL_VOIDOBJ", f"cannot declare void inline: {name}", node.position)
    parameters = None if keys is None else tuple(zip((n or "" for n in names), keys, strict=True))
    inline = Inline(kind, parameters, node.value)
    if not trusted:
        _expand(name, inline, tuple(_sample(k, node.position) for k in keys or ()), scope, node.position)
    scope.inlines[name] = inline


def _has_size(kind: Type) -> bool:
    base = resolve(kind)
    return isinstance(base, Array) and base.length is not None


def _sample(kind: Type, position: Position) -> Operand:
    """Something of a parameter's type to check the value with before there is an argument."""
    return Deref(kind, position, Const(Pointer(kind), position, 0))


def expand(name: str, inline: Inline, scope: Scope, position: Position) -> Operand:
    """The value of an inline definition without parameters."""
    scope.require_offered("variable", name, position)
    if inline.parameters is not None:
        raise bad_reference("associative array", name, "scalar", position)
    return _expand(name, inline, (), scope, position)


def expand_array(
    name: str, inline: Inline, arguments: tuple[Operand, ...], scope: Scope, position: Position
) -> Operand:
    """The value of an inline array for these keys."""
    scope.require_offered("variable", name, position)
    if inline.parameters is None:
        raise DError("D_ARR_BADREF", f"cannot access inline scalar {name} as an associative array", position)
    kinds = tuple(kind for _, kind in inline.parameters)
    check_keys(f"{name}[ ]", kinds, arguments, position)
    return _expand(name, inline, arguments, scope, position)


def _expand(name: str, inline: Inline, arguments: tuple[Operand, ...], scope: Scope, position: Position) -> Operand:
    bindings = {
        parameter: _bound_value(argument, kind)
        for (parameter, kind), argument in zip(inline.parameters or (), arguments, strict=True)
    }
    result = scope.expand(name, inline.value, bindings, position)
    if isinstance(result, TranslatorValue):
        return result
    if not accepts(inline.type, result) and not compatible(inline.type, result.type):
        text = f'inline {name} definition uses incompatible types: "{spell(inline.type)}" = "{spell(result.type)}"'
        raise DError("D_OP_INCOMPAT", text, position)
    value = value_of(result)
    return value if is_string(value.type) else stored(value, inline.type)


def _bound_value(argument: Operand, kind: Type) -> Operand:
    return argument if isinstance(argument, TranslatorValue) else stored(value_of(argument), kind)
