"""Maps and scratch variables: their elements as values, and what is assigned to them."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.frontends.bpftrace.check import implicit_casts
from sonde.frontends.bpftrace.check.aggregating import NUMBERS, shown_function
from sonde.frontends.bpftrace.check.conversions import converted, member_of, string, wrapped
from sonde.frontends.bpftrace.check.scope import BtScope, Local, MapUse
from sonde.frontends.bpftrace.check.told_lookups import LOOKUP, told
from sonde.frontends.bpftrace.check.tuples import text_size
from sonde.frontends.bpftrace.check.types import (
    INT64,
    UINT64,
    flexible_like,
    is_integer,
    is_object,
    is_scalar,
    is_string,
    is_text,
    spelled,
)
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Expr
from sonde.model.types import CHAR, Array, Int, Pointer, Struct, Type, is_signed, resolve, size_of


def keys_of(node: nodes.MapName, scope: BtScope, use: MapUse) -> tuple[Expr, ...]:
    """The keys, as the map has them; a tuple is several."""
    written = node.keys or ()
    if len(written) == 1 and isinstance(written[0], nodes.Tuple) and written[0].items:
        written = written[0].items
    for each in written:
        function = shown_function(each, scope)
        if function:
            raise scope.mistake(f"Value '{function}_t' cannot be used as a map key.", node.at)
    values = [scope.expression(each, scope) for each in written]
    return key_values(of_tuple(values), node.at, scope, use, written)


def of_tuple(values: list[Expr]) -> list[Expr]:
    """A tuple alone is as many keys as it has members."""
    base = resolve(values[0].type) if len(values) == 1 else None
    if not isinstance(base, Struct) or base.keyword != "tuple" or not base.members:
        return values
    return [member_of(values[0], each, values[0].position) for each in base.members]


def key_values(
    values: list[Expr], span: SourceSpan, scope: BtScope, use: MapUse, written_as: Sequence[nodes.Expr] | None = None
) -> tuple[Expr, ...]:
    found = [_key(each, span, scope) for each in values]
    sizes = tuple(text_size(each, scope) if is_text(each.type) else 0 for each in found)
    types = scope.learn_keys(use, tuple(each.type for each in found), sizes, span)
    if written_as is not None and len(written_as) == len(found):
        for node, e, kind in zip(written_as, found, types, strict=True):
            if e.type != kind:
                implicit_casts.warn_of_cast(node, e, kind, scope)
    return tuple(converted(each, stored(type_)) for each, type_ in zip(found, types, strict=True))


def _key(e: Expr, span: SourceSpan, scope: BtScope) -> Expr:
    if is_text(e.type):
        return string(e)
    if is_scalar(e.type) or is_object(e.type) or isinstance(e, (tree.StackTrace, tree.Call)):
        return e
    raise scope.mistake(f"{spelled(e.type)} cannot be part of a map's key", span)


def stored(kind: Type) -> Type:
    """Integers are keys of 64 bits, as values of all sizes are equal then that are equal."""
    base = resolve(kind)
    if isinstance(base, Int) and base.size < 8 and base.name.removeprefix("u").startswith("int"):
        return INT64 if base.signed else UINT64
    return kind


def element(node: nodes.MapName, scope: BtScope) -> Expr:
    """An element as a value."""
    use = scope.map(node.name, node.at)
    keys = keys_of(node, scope, use)
    if use.function:
        return aggregated(node, use, keys, scope)
    if use.value is None:
        # Set further on in the program, of which the next pass knows, or nowhere.
        scope.known.is_guessed = scope.known.has_unknown = True
        if scope.known.settled:
            name = node.at._replace(end_line=node.at.line, end_column=node.at.column + len(node.name))
            raise scope.mistake(f"Undefined map: {node.name}", name)
        return tree.Const(INT64, scope.at(node.at), 0)
    found = tree.Element(use.value, scope.at(node.at), scope.array(use), keys)
    told(found, LOOKUP, node.at, scope)
    return found


def aggregated(node: nodes.MapName, use: MapUse, keys: tuple[Expr, ...], scope: BtScope) -> tree.Aggregated:
    """What an aggregation has come to, as a number."""
    if use.function not in NUMBERS:
        raise scope.mistake(f"The value of {use.function}() cannot be used: print the whole map {node.name}", node.at)
    return tree.Aggregated(number_type(use), scope.at(node.at), scope.aggregation(use), keys)


def number_type(use: MapUse) -> Type:
    """The type of an aggregation's number."""
    return INT64 if use.is_signed else UINT64


def assign_map(node: nodes.Assign | nodes.Increment, target: nodes.MapName, value: Expr, scope: BtScope) -> Expr:
    use = scope.map(target.name, target.at)
    keys = keys_of(target, scope, use)
    value = _value(value, node.at, scope)
    kind = scope.learn_value(use, _kept(value.type), node.at, written(value, scope))
    _warn_of_cast(node, value, use.written or kind, scope)
    place = tree.Element(kind, scope.at(target.at), scope.array(use), keys)
    return tree.Assign(kind, scope.at(node.at), place, converted(value, kind))


def _warn_of_cast(node: nodes.Assign | nodes.Let | nodes.Increment, value: Expr, kind: Type, scope: BtScope) -> None:
    given = None if isinstance(node, nodes.Increment) else node.value
    if given is not None and value.type != kind:
        implicit_casts.warn_of_cast(given, value, kind, scope)


def _kept(kind: Type) -> Type:
    """Maps hold integers of 64 bits, so that what is added to them has room."""
    base = resolve(kind)
    if isinstance(base, Int) and base.name.removeprefix("u").startswith("int"):
        return flexible_like(INT64 if base.signed else UINT64, kind)
    return kind


def written(e: Expr, scope: BtScope) -> Type:
    """What messages call the type of a value: strings by the bytes that they take."""
    return Array(CHAR, text_size(e, scope)) if is_text(e.type) else e.type


def _value(e: Expr, span: SourceSpan, scope: BtScope) -> Expr:
    if is_text(e.type):
        return string(e)
    if not is_scalar(e.type) and not is_object(e.type):
        raise scope.mistake(f"{spelled(e.type)} cannot be assigned", span)
    return e


def scratch(node: nodes.ScratchVariable, scope: BtScope) -> Expr:
    local = scope.find(node.name)
    if local is None:
        raise scope.mistake(f"Undefined or undeclared variable: {node.name}", node.at)
    if local.stands_for is not None:
        return local.stands_for
    if local in scope.unassigned and not scope.unevaluated:
        scope.remark(f"Variable used before it was assigned: {node.name}", node.at)
    if local.type is None:
        # It was declared and is set further on; until then it is 0.
        scope.known.is_guessed = True
        return tree.Const(INT64, scope.at(node.at), 0)
    return tree.Var(local.type, scope.at(node.at), scope.local_variable(local))


def assign_scratch(
    node: nodes.Assign | nodes.Let | nodes.Increment, name: str, value: Expr, scope: BtScope, is_new: bool = False
) -> Expr:
    local = None if is_new else scope.find(name)
    if local is None:
        local = scope.declare(name, None)
    if local.stands_for is not None:
        raise scope.mistake(f"{name} is the element that the loop is at, and cannot be assigned to", node.at)
    value = _value(value, node.at, scope)
    scope.unassigned.pop(local, None)
    _require_room(local, value, node.at, scope)
    kind = scope.learn_local(local, value.type, node.at, written(value, scope))
    _warn_of_cast(node, value, local.declared or kind, scope)
    target = tree.Var(kind, scope.at(node.at), scope.local_variable(local))
    return tree.Assign(kind, scope.at(node.at), target, converted(value, kind))


def _require_room(local: Local, value: Expr, span: SourceSpan, scope: BtScope) -> None:
    """Raises BtError for a literal or a string that a variable of a declared type has no room for."""
    declared = local.declared
    if declared is None:
        return
    base = resolve(declared)
    if isinstance(value, tree.Const) and isinstance(base, Int) and is_integer(value.type):
        has_room = wrapped(value.value, declared) == value.value
        given = spelled(value.type)
    elif isinstance(base, Array) and _has_own_size(value):
        has_room, given = text_size(value, scope) <= (base.length or 0), spelled(written(value, scope))
    else:
        return
    if not has_room:
        text = f"Type mismatch for {local.name}: trying to assign value of type '{given}' when variable already has a "
        raise scope.mistake(f"{text}type '{spelled(declared)}'", span)


def _has_own_size(value: Expr) -> bool:
    """Whether a string takes as much as its type says; variables and elements hold strings of every size."""
    if isinstance(value, tree.Conditional):
        return _has_own_size(value.then) and _has_own_size(value.otherwise)
    inner = value.operand if isinstance(value, tree.Cast) else value
    return is_text(value.type) and is_text(inner.type) and not isinstance(inner, (tree.Var, tree.Element))


def increment(node: nodes.Increment, scope: BtScope) -> Expr:
    """++ and --: of integers 64 bits wide, of pointers by what they point to."""
    target = node.target
    if isinstance(target, nodes.MapName):
        place = _incremented_map(target, scope)
    elif isinstance(target, nodes.ScratchVariable):
        place = scratch(target, scope)
        if isinstance(place, tree.Var) and isinstance(resolve(place.type), Int):
            local = scope.find(target.name)
            assert local is not None
            scope.learn_local(local, INT64 if is_signed(place.type) else UINT64, node.at)
            place = scratch(target, scope)
    else:
        raise scope.mistake("The ++ and -- operators must be applied to a map or variable", node.at)
    if not is_scalar(place.type) or is_string(place.type):
        raise scope.mistake(f"The ++ operator can not be used on expressions of type '{spelled(place.type)}'", node.at)
    base = resolve(place.type)
    step = node.step * (size_of(base.to) or 1) if isinstance(base, Pointer) else node.step
    return tree.Increment(place.type, scope.at(node.at), place, step, node.is_prefix)


def _incremented_map(target: nodes.MapName, scope: BtScope) -> Expr:
    use = scope.map(target.name, target.at)
    keys = keys_of(target, scope, use)
    kind = use.value if use.value is not None else scope.learn_value(use, INT64, target.at)
    if use.function:
        raise scope.mistake(f"Type mismatch for {target.name}: {use.function}() is assigned to it elsewhere", target.at)
    return tree.Element(kind, scope.at(target.at), scope.array(use), keys)
