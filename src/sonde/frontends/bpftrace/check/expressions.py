"""Expressions: the node of the model for each node of the syntax."""

from __future__ import annotations

from sonde.frontends.bpftrace.check import (
    address_spaces,
    all_arguments,
    arrays,
    blocks,
    c_macros,
    header_constants,
    maps,
    offsets,
    operations,
    predicates,
    shown_numbers,
    type_information,
    types_of_programs,
)
from sonde.frontends.bpftrace.check.aggregating import shown_function
from sonde.frontends.bpftrace.check.builtins import WITHOUT_NAMES, argument, builtin, composed_elements, public_name
from sonde.frontends.bpftrace.check.called_types import called
from sonde.frontends.bpftrace.check.calls import is_bare
from sonde.frontends.bpftrace.check.calls import value as call_value
from sonde.frontends.bpftrace.check.conversions import constant, converted, member_of, memory_of, of_space, string, wide
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.type_names import type_named, unevaluated
from sonde.frontends.bpftrace.check.types import (
    INT64,
    UINT64,
    integer,
    is_bool,
    is_composed,
    is_integer,
    is_scalar,
    is_text,
    merged,
    spelled,
)
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.object_names import OBJECTS
from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.lexer import integer_of
from sonde.model import program as tree
from sonde.model.kinds import pointer_like
from sonde.model.probe import Uprobe
from sonde.model.program import Expr
from sonde.model.types import BOOL, CHAR, INT, STRING, VOID, Array, Enum, Pointer, Struct, Type, resolve, size_of
from sonde.typed import Any


def expression(node: nodes.Expr, scope: BtScope) -> Expr:
    check = _CHECKS.get(type(node))
    if check is None:
        check = operations.CHECKS[type(node)]
    checked: Expr = check(node, scope)
    return checked


def _macro_value(node: nodes.Call | nodes.Name, scope: BtScope) -> Expr | None:
    """The value of a call of a macro or function of the program, None where there is none."""
    if not scope.macros and not scope.functions:
        return None

    return blocks.macro_value(node, scope)


def _number(node: nodes.Number, scope: BtScope) -> Expr:
    return constant(node.value, scope.at(node.at), UINT64 if node.is_unsigned else None)


def _text(node: nodes.StringLiteral, scope: BtScope) -> Expr:
    if len(node.value) > scope.strsize:
        text = f"String of {len(node.value)} bytes is cut to {scope.strsize}, which max_strlen sets."
        scope.remark(text, node.at)
    return tree.StringConst(STRING, scope.at(node.at), node.value)


def _positional(node: nodes.Positional, scope: BtScope) -> Expr:
    """A word of the command line as a number, or as a string if it is none; 0 if there are fewer."""
    if not node.number:
        return constant(len(scope.arguments), scope.at(node.at), INT64)
    text = scope.arguments[node.number - 1] if node.number <= len(scope.arguments) else ""
    if not text:
        scope.remark(f"Positional parameter ${node.number} is empty or not provided.", node.at)
        return constant(0, scope.at(node.at), INT64)
    value = integer_of(text)
    if value is None:
        return _text(nodes.StringLiteral(node.at, text.encode(errors="surrogateescape")), scope)
    return constant(value, scope.at(node.at))


def _name(node: nodes.Name, scope: BtScope) -> Expr:
    made = _macro_value(node, scope)
    if made is not None:
        return made
    text = scope.types.macro(node.name)
    if text is not None:
        value = c_macros.c_macro(node, text, scope)
        with scope.types.expanded():
            return scope.expression(value, scope)
    if node.name in ("true", "false"):
        return tree.Const(BOOL, scope.at(node.at), int(node.name == "true"))
    node = node._replace(name=public_name(node.name))
    found = builtin(node.name, node.at, scope)
    if found is not None:
        return found
    if is_bare(node.name):
        return call_value(nodes.Call(node.at, node.name, ()), scope)
    if node.name == "args":
        return all_arguments.all_arguments(node, scope)
    enumerator = scope.types.enumerator(node.name)
    if enumerator is None and isinstance(scope.attached.probes[0].firing if scope.attached.probes else None, Uprobe):
        enumerator = types_of_programs.enumerator(node.name, node.at, scope)
    if enumerator is not None:
        return tree.Const(enumerator[0], scope.at(node.at), enumerator[1])
    number = scope.types.header_constant(node.name)
    if number is not None:
        return constant(number, scope.at(node.at))
    raise scope.mistake(f"Unknown identifier: '{node.name}'", node.at, _advice(node.name))


def _advice(name: str) -> str:
    """What helps where a name is not known, "" if nothing does."""
    if name not in header_constants.header_constants():
        return ""
    return "constants of the kernel's headers are known to a program that includes one, as #include <linux/types.h>"


def _call(node: nodes.Call, scope: BtScope) -> Expr:
    made = _macro_value(node, scope)
    if made is not None:
        return made
    outer, scope.call = scope.call, node.at
    value = call_value(node, scope)
    scope.call = outer
    return value


def _member(node: nodes.Member, scope: BtScope) -> Expr:
    if isinstance(node.object, nodes.Call) and node.object.name == "typeinfo":
        return type_information.described_part(node.object, node, scope)
    if isinstance(node.object, nodes.Name) and node.object.name == "args":
        return argument(node.name, node.object.at if scope.attached.kind in WITHOUT_NAMES else node.at, scope)
    of = scope.expression(node.object, scope)
    base = resolve(of.type)
    if isinstance(base, Pointer) and isinstance(resolve(base.to), Struct):
        of, base = tree.Deref(base.to, scope.at(node.object.at), of), resolve(base.to)
    if not isinstance(base, Struct):
        what = "index" if node.name.isdigit() else "field"
        raise scope.mistake(f"Can not access {what} '{node.name}' on expression of type '{called(of, scope)}'", node.at)
    member = base.find(node.name)
    if member is None:
        raise scope.mistake(_no_member(base, node.name), node.at)
    return of_space(member_of(of, member, scope.at(node.at)))


def _no_member(of: Struct, name: str) -> str:
    if of.keyword == "tuple" and name.isdigit():
        return f"Invalid tuple index: {name}. Found {len(of.members)} elements in tuple."
    if of.keyword == "tuple" or of.keyword in OBJECTS:
        return f"Can not access field '{name}' on expression of type '{spelled(of)}'"
    if of.keyword == "record":
        return f"Record does not contain a field named '{name}'"
    return f"Struct/union of type '{of}' does not contain a field named '{name}'"


def _index(node: nodes.Index, scope: BtScope) -> Expr:
    of = scope.expression(node.object, scope)
    subscript = scope.expression(node.subscript, scope)
    base = resolve(of.type)
    if isinstance(base, Struct) and base.keyword == "tuple" and isinstance(subscript, tree.Const):
        member = base.find(str(subscript.value))
        if member is None:
            raise scope.mistake(_no_member(base, str(subscript.value)), node.at)
        return tree.MemberOf(member.type, scope.at(node.at), of, member)
    if not is_integer(subscript.type) or (isinstance(subscript, tree.Const) and subscript.value < 0):
        text = f"The array index operator [] only accepts non-negative integer indices. Got: {called(subscript, scope)}"
        raise scope.mistake(text, node.at)
    at = scope.at(node.at)
    if isinstance(base, Pointer):
        if resolve(base.to) == VOID:
            text = "The array index operator [] cannot be used on a pointer to an unsized type (void *)."
            raise scope.mistake(text, node.at)
        moved = tree.Binary(INT64, at, "*", wide(subscript), constant(size_of(base.to) or 1, at, INT64))
        address = tree.Binary(UINT64, at, "+", tree.Cast(UINT64, at, of), converted(moved, UINT64))
        return of_space(tree.Deref(base.to, at, tree.Cast(of.type, at, address)))
    if isinstance(subscript, tree.Const):
        require_within(base, subscript.value, node.at, scope)
    if isinstance(base, Array):
        parts = composed_elements(of, base)
        if isinstance(subscript, tree.Const) and parts:
            return parts[subscript.value]
        return of_space(tree.Index(base.of, at, of, wide(subscript)))
    if is_text(of.type):
        if isinstance(subscript, tree.Const):
            _require_character(node, of, subscript.value, scope)
        return tree.Index(CHAR, at, of, wide(subscript))
    raise scope.mistake(
        f"The array index operator [] can only be used on arrays, pointers, and tuples, found {called(of, scope)}.",
        node.at,
    )


def _require_character(node: nodes.Index, of: Expr, number: int, scope: BtScope) -> None:
    """Raises BtError for a character behind the NUL of a string; of a variable once its longest one is known."""
    local = scope.find(node.object.name) if isinstance(node.object, nodes.ScratchVariable) else None
    if local is not None and local.stands_for is None:
        scope.indexed.append((local, number, node.at))
    elif not isinstance(of, tree.Element):
        require_within(maps.written(of, scope), number, node.at, scope)


def require_within(kind: Type | None, number: int, span: SourceSpan, scope: BtScope) -> None:
    """Raises BtError for an index that is behind the end of an array."""
    base = None if kind is None else resolve(kind)
    if isinstance(base, Array) and base.length and number >= base.length:
        raise scope.mistake(f"the index {number} is out of bounds for array of size {base.length}", span)


def _type(node: nodes.TypeName, scope: BtScope) -> Expr:
    """What a macro's parameter stands for where a value is wanted."""
    raise scope.mistake("a type is no value", node.at)


def _comptime(node: nodes.Comptime, scope: BtScope) -> Expr:
    """A constant; what is not known yet, since types are not, may be known when they are."""
    e = unevaluated(node.operand, scope)
    if isinstance(e, (tree.Const, tree.StringConst)):
        return e

    truth = predicates.known_truth(e)
    if truth is None:
        scope.known.is_guessed = True
        raise scope.mistake("Unable to resolve comptime expression", node.at)
    return tree.Const(BOOL, scope.at(node.at), int(truth))


def _cast(node: nodes.Cast, scope: BtScope) -> Expr:
    if node.type.words == "username_t" and not node.type.suffixes:
        return shown_numbers.user(scope.expression(node.operand, scope))
    kind = type_named(node.type, scope)
    if function := shown_function(node.operand, scope):
        raise scope.mistake(f'Cannot cast from "{function}_t" to "{spelled(kind)}"', node.at)
    operand = scope.expression(node.operand, scope)
    _warn_of_same(node, kind, operand, scope)
    pointer = resolve(kind)
    if isinstance(pointer, Pointer) and (is_text(operand.type) or _is_in_memory(operand)):
        return tree.Cast(pointer_like(memory_of(operand), pointer.to), scope.at(node.at), operand)
    if is_scalar(kind) and is_scalar(operand.type):
        _require_variant(kind, operand, node, scope)
        return _kept(kind, node, operand, scope)
    if is_text(kind) and is_text(operand.type):
        _require_room(kind, operand, node, scope)
        return operand
    if is_bool(kind) and is_text(operand.type):
        empty = tree.StringConst(STRING, operand.position, b"")
        return tree.Cast(BOOL, operand.position, tree.Binary(INT, operand.position, "!=", string(operand), empty))
    if is_composed(kind) and merged(kind, operand.type) == kind:
        return converted(operand, kind)

    array = arrays.array_cast(kind, operand, node.at, scope)
    if array is not None:
        return array
    raise scope.mistake(f'Cannot cast from "{spelled(operand.type)}" to "{spelled(kind)}"', node.at)


def _is_in_memory(e: Expr) -> bool:
    """Whether it is an array that lies somewhere, as a member or an argument does."""
    root = e
    while isinstance(root, (tree.MemberOf, tree.Index)):
        root = root.object
    return isinstance(resolve(e.type), Array) and isinstance(root, (tree.Deref, tree.Argument))


def _warn_of_same(node: nodes.Cast, kind: Type, operand: Expr, scope: BtScope) -> None:
    of = operand.type
    if is_text(kind) and is_text(of):
        of = maps.written(operand, scope)
    if spelled(kind) == spelled(of):
        scope.remark(f"Unnecessary cast: expression is already of type {spelled(of)}", node.at)


def _require_room(kind: Type, operand: Expr, node: nodes.Cast, scope: BtScope) -> None:
    """Raises BtError for a literal, or an array, that is longer than the string that it is to be."""
    base, of = resolve(kind), resolve(operand.type)
    has = len(operand.value) + 1 if isinstance(operand, tree.StringConst) else getattr(of, "length", None)
    if isinstance(base, Array) and base.length and has and has > base.length:
        raise scope.mistake(f'Cannot cast from "string[{has}]" to "{spelled(kind)}"', node.at)


def _require_variant(kind: Type, operand: Expr, node: nodes.Cast, scope: BtScope) -> None:
    """Raises BtError for a literal that no enumerator has."""
    base = resolve(kind)
    if not isinstance(base, Enum) or not isinstance(operand, tree.Const) or isinstance(resolve(operand.type), Enum):
        return
    if base.values and operand.value not in (value for _, value in base.values):
        raise scope.mistake(f"Enum: {base.name} doesn't contain a variant value of {operand.value}", node.at)


def _kept(kind: Any, node: nodes.Cast, operand: Expr, scope: BtScope) -> Expr:
    base = resolve(kind)
    if isinstance(base, Pointer):
        kind = address_spaces.pointer_into(base.to, operand, scope)
    if isinstance(base, Pointer) and is_integer(operand.type) and size_of(operand.type) < size_of(base):
        # An address has no sign: a shorter number that is negative is that many bits of it.
        operand = converted(operand, integer(size_of(operand.type), False))
    return operand if operand.type == kind else converted(operand, kind)


_CHECKS: dict[type, Any] = {
    nodes.Number: _number, nodes.StringLiteral: _text, nodes.Positional: _positional, nodes.Name: _name,
    nodes.Member: _member, nodes.Index: _index, nodes.Call: _call, nodes.Cast: _cast,
    nodes.Offset: lambda node, scope: offsets.offset(node, scope),
    nodes.Comptime: _comptime, nodes.TypeName: _type,
}  # fmt: skip
