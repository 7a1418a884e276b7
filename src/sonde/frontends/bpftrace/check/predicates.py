"""Functions about types and constants, which are decided when the program is compiled."""

from __future__ import annotations

from collections.abc import Callable

from sonde.frontends.bpftrace.check import types
from sonde.frontends.bpftrace.check.conversions import constant, literal_text
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import INT64, UINT64, is_bool, is_integer, is_string, is_text
from sonde.frontends.bpftrace.check.value_call import Action, ValueCall
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Expr, Statement
from sonde.model.types import BOOL, Array, Int, Pointer, Type, is_signed, resolve

_FIRST_ERROR = 0xFFFFFFFFFFFFF001
"""-MAX_ERRNO as an address (include/linux/err.h)."""


def of_type(test: Callable[[Type], bool]) -> Callable[[nodes.Call, list[nodes.Expr], BtScope], Expr]:
    """Whether the type of an expression, which is not evaluated, passes a test."""

    def checked(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
        scope.before.append([])
        kind = scope.expression(arguments[0], scope).type
        scope.before.pop()
        return tree.Const(BOOL, scope.at(call.at), int(test(kind)))

    return checked


def is_pointer_type(kind: Type) -> bool:
    return isinstance(resolve(kind), Pointer)


def is_array_type(kind: Type) -> bool:
    """Strings are none."""
    return isinstance(resolve(kind), Array)


def is_string_type(kind: Type) -> bool:
    return is_string(kind)


def is_integer_type(kind: Type) -> bool:
    """Truth values and enumerations are none."""
    return isinstance(resolve(kind), Int) and is_integer(kind) and not is_bool(kind)


def is_unsigned(kind: Type) -> bool:
    return is_integer_type(kind) and not is_signed(kind)


def is_literal(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """Numbers, truth values and strings as they are written, also where a macro or `$1` put them there."""
    given = arguments[0]
    found = isinstance(given, (nodes.Number, nodes.StringLiteral, nodes.Positional))
    found |= isinstance(given, nodes.Name) and given.name in ("true", "false")
    return tree.Const(BOOL, scope.at(call.at), int(found))


def is_without_keys(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """is_scalar(@map)."""
    given = arguments[0]
    if not isinstance(given, nodes.MapName) or given.keys is not None:
        raise scope.mistake("is_scalar() expects a map argument", call.at)
    use = scope.map(given.name, given.at)
    if use.keys is None:
        scope.known.is_guessed = True
        raise scope.mistake(f"Undefined map: {given.name}", given.at)
    return tree.Const(BOOL, scope.at(call.at), int(not use.keys))


def is_error(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """is_err(pointer): whether it is a negative errno that the kernel gives as a pointer."""
    at = scope.at(call.at)
    address = tree.Cast(UINT64, at, scope.expression(arguments[0], scope))
    return tree.Cast(BOOL, at, tree.Binary(INT64, at, ">=", address, constant(_FIRST_ERROR, at, UINT64)))


def static_assert(call: nodes.Call, scope: BtScope) -> Statement:
    """static_assert(condition, message): a mistake unless the condition is known to be true."""
    return _required(call, scope, 2)


def assert_string(call: nodes.Call, scope: BtScope) -> Statement:
    """assert_str(value): a mistake unless it is like a string."""
    if len(call.arguments) != 1 or isinstance(call.arguments[0], nodes.TypeName):
        raise scope.mistake(f"assert_str() requires one argument ({len(call.arguments)} provided)", call.at)
    kind = scope.expression(call.arguments[0], scope).type
    why = not_like_text(kind)
    if why:
        raise scope.mistake(why, call.at)
    return nothing(call, scope)


def not_like_text(kind: Type) -> str:
    """Why values of a type are no characters, "" if they are."""
    base = resolve(kind)
    to = base.to if isinstance(base, Pointer) else base.of if isinstance(base, Array) else None
    if is_text(kind) or (to is not None and (types.is_character(to) or resolve(to) == types.INTEGERS["int8"])):
        return ""
    if isinstance(base, Array):
        return "string-like arrays must contain a char-like type"
    if isinstance(base, Pointer):
        return "string-like pointers must point to a char-like type"
    return "string-like values must be either strings, arrays or pointers"


def _required(call: nodes.Call, scope: BtScope, count: int) -> Statement:
    if len(call.arguments) != count or any(isinstance(each, nodes.TypeName) for each in call.arguments):
        raise scope.mistake(f"{call.name}() requires {count} arguments ({len(call.arguments)} provided)", call.at)
    condition, message = call.arguments
    assert not isinstance(condition, nodes.TypeName)
    truth = known_truth(scope.expression(condition, scope))
    if truth is None:
        raise scope.mistake(f"{call.name}() requires a condition that is known when compiling", call.at)
    if not truth:
        text = literal_text(message, scope, f"{call.name}()", call.at).decode(errors="replace")
        raise scope.mistake(text, call.at)
    return nothing(call, scope)


def nothing(call: nodes.Call, scope: BtScope) -> Statement:
    """What a statement comes to that is all done."""
    at = scope.at(call.at)
    return tree.Evaluate(at, constant(0, at))


def known_truth(e: Expr) -> bool | None:
    """Whether a condition is true, None if only running tells."""
    if isinstance(e, tree.Cast):
        return known_truth(e.operand)
    if isinstance(e, tree.Const):
        return e.value != 0
    if isinstance(e, tree.Unary) and e.op == "!":
        found = known_truth(e.operand)
        return None if found is None else not found
    if not isinstance(e, tree.Binary):
        return None
    if e.op in ("&&", "||"):
        return _known_both(e)
    left, right = _known_value(e.left), _known_value(e.right)
    if left is None or right is None or type(left) is not type(right):
        return None
    return _COMPARED[e.op](left, right) if e.op in _COMPARED else None


def _known_both(e: tree.Binary) -> bool | None:
    left, right = known_truth(e.left), known_truth(e.right)
    decisive = e.op == "||"
    if decisive in (left, right):
        return decisive
    return None if left is None or right is None else not decisive


def _known_value(e: Expr) -> int | bytes | None:
    if isinstance(e, tree.StringConst):
        return e.value
    if isinstance(e, tree.Cast) and is_integer(e.type):
        # Truth values come from conditions.
        truth = known_truth(e.operand) if isinstance(e.operand, (tree.Binary, tree.Unary)) else None
        return int(truth) if truth is not None else _known_value(e.operand)
    return e.value if isinstance(e, tree.Const) else None


_COMPARED: dict[str, Callable[[int | bytes, int | bytes], bool]] = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,  # type: ignore[operator]
    ">": lambda a, b: a > b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b,  # type: ignore[operator]
}  # fmt: skip


VALUES: dict[str, ValueCall] = {
    "is_ptr": ValueCall(1, 1, of_type(is_pointer_type)),
    "is_array": ValueCall(1, 1, of_type(is_array_type)),
    "is_str": ValueCall(1, 1, of_type(is_string_type)),
    "is_integer": ValueCall(1, 1, of_type(is_integer_type)),
    "is_unsigned_integer": ValueCall(1, 1, of_type(is_unsigned)),
    "is_literal": ValueCall(1, 1, is_literal),
    "is_scalar": ValueCall(1, 1, is_without_keys),
    "is_err": ValueCall(1, 1, is_error),
}

ABOUT_TYPES = VALUES.keys() - {"is_err"}


ACTIONS: dict[str, Action] = {"static_assert": static_assert, "assert_str": assert_string}
