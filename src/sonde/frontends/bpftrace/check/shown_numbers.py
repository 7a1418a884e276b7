"""Numbers that are shown as text: times, users, addresses of networks.

Such a value is an integer whose type says how it is shown: an enumeration whose name begins with `FORM`, which no
program's can, and has the form and what that needs behind it. So it is assigned, a key and a map's value as any
integer, and becomes text where it is shown (`report/number_forms.py`).
"""

from __future__ import annotations

from socket import AF_INET, AF_INET6, inet_pton

from sonde.frontends.bpftrace.check.address_spaces import pointer_into
from sonde.frontends.bpftrace.check.conversions import constant, converted, integer_value, literal_text
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import (
    INT64,
    INTEGERS,
    UINT32,
    UINT64,
    base_name,
    is_integer,
    is_scalar,
    is_text,
    structure_of,
)
from sonde.frontends.bpftrace.check.value_call import ValueCall
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.number_forms import FORM
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.kinds import pointer_like
from sonde.model.program import Expr
from sonde.model.types import BOOL, INT, STRING, TEXT, Array, Enum, Pointer, Type, is_signed, resolve, size_of

_OF_LINK = 6
"""Bytes of an address of Ethernet."""

_BYTES = {2: 4, 10: 16}
"""Of an address of each family: AF_INET, AF_INET6 (include/linux/socket.h)."""


def is_shown(e: Expr) -> bool:
    """Whether the value is one of these numbers, or an enumerator, which is shown by its name."""
    return isinstance(resolve(e.type), Enum)


def is_made_text(e: Expr) -> bool:
    """Whether the value is one that is text for the language, and no number."""
    kind = resolve(e.type)
    return isinstance(kind, Enum) and kind.name.startswith(FORM) and kind.name.removeprefix(FORM).split()[0] in _TEXTS


_TEXTS = ("strftime", "cgroup", "username", "mac")


def noted(e: Expr) -> Expr:
    """What printf() records of one."""
    kind = resolve(e.type)
    assert isinstance(kind, Enum)
    name = kind.name if kind.name.startswith(FORM) else _names(kind)
    form = tree.StringConst(STRING, e.position, name.encode())
    return tree.Call(TEXT, e.position, "flagstr", (form, converted(e, INT64)))


def _names(kind: Enum) -> str:
    """The form of an enumeration: of several enumerators with one value the first is shown."""
    names = {value: name for name, value in reversed(kind.values)}
    return f"{FORM}enumerator " + " ".join(f"{name}={value}" for value, name in names.items())


def _shown(form: str, value: Expr) -> Expr:
    kind = Enum(FORM + form, 8, is_signed(value.type), ())
    return tree.Cast(kind, value.position, value)


def plain(e: Expr) -> Expr:
    """An integer, a truth value or an address, for %s."""
    kind = resolve(e.type)
    if kind == BOOL:
        return _shown("truth", converted(e, UINT64))
    if isinstance(kind, Pointer):
        return _shown("pointer", converted(e, UINT64))
    return _shown("integer", converted(e, INT64)) if is_signed(kind) else _shown("unsigned", converted(e, UINT64))


def strftime(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """strftime(format, ns): a time since the system was started, in local time."""
    text = literal_text(arguments[0], scope, "strftime()", call.at).decode(errors="surrogateescape")
    given = arguments[1]
    if isinstance(given, nodes.Call) and any(
        isinstance(each, nodes.Name) and each.name == "monotonic" for each in given.arguments
    ):
        raise scope.mistake("strftime() can not take a monotonic timestamp", call.at)
    time = integer_value(given, scope, "strftime()")
    if isinstance(time, tree.Const) and time.value < 0:
        raise scope.mistake("strftime() does not accept negative timestamps", call.at)
    return _shown(f"strftime {text}", time)


def flags_of(e: Expr) -> Expr:
    """Flags of an allocation of memory, gfp_t."""
    return _shown("gfp", converted(e, UINT64))


def group_path(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """cgroup_path(number, [glob]): of the hierarchies of control groups whose names fit."""
    glob = "*"
    if len(arguments) > 1:
        glob = literal_text(arguments[1], scope, "cgroup_path()", call.at).decode(errors="surrogateescape")
    return _shown(f"cgroup {glob}", integer_value(arguments[0], scope, "cgroup_path()"))


def username(span: SourceSpan, scope: BtScope) -> Expr:
    """The name of the user whose number `uid` is."""
    return _shown("username", converted(tree.Builtin(UINT32, scope.at(span), "uid"), UINT64))


def user(e: Expr) -> Expr:
    """The name of the user with a number."""
    return _shown("username", converted(e, UINT64))


def macaddr(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """macaddr(six bytes)."""
    e, at = scope.expression(arguments[0], scope), scope.at(call.at)
    kind = resolve(e.type)
    if isinstance(e, tree.StringConst):
        raise scope.mistake("macaddr() does not support literal string arguments", call.at)
    if is_scalar(kind):
        kind = Array(INTEGERS["uint8"], _OF_LINK)
        e = tree.Deref(kind, at, tree.Cast(pointer_into(kind, e, scope), at, e))
    if not isinstance(kind, Array):
        raise scope.mistake(f"macaddr() only supports array or pointer arguments ({base_name(kind)} provided)", call.at)
    if (kind.length or 0) * size_of(kind.of) < _OF_LINK:
        raise scope.mistake("macaddr() argument must be at least 6 bytes in size", call.at)
    whole: Expr = constant(0, at, UINT64)
    for number in range(_OF_LINK):
        byte = tree.Index(kind.of, at, e, constant(number, at, INT64))
        low = tree.Binary(UINT64, at, "&", converted(byte, UINT64), constant(0xFF, at, UINT64))
        moved = tree.Binary(UINT64, at, "<<", low, constant(8 * number, at, UINT64))
        whole = tree.Binary(UINT64, at, "|", whole, moved)
    return _shown("mac", whole)


def ntop(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """ntop([family,] address): an integer is an IPv4 address; what pton() gives is constant."""
    given, at = arguments[-1], scope.at(call.at)
    if isinstance(given, nodes.Call) and given.name == "pton":
        return _address(given, scope)
    e = scope.expression(given, scope)
    kind = resolve(e.type)
    if is_text(kind):
        raise scope.mistake("ntop() argument must be 4 or 16 bytes in size", call.at)
    if not isinstance(kind, (Array, Pointer)):
        if not is_integer(kind):
            text = f"ntop() expects an integer or array argument, got {base_name(kind)}"
            raise scope.mistake(text, call.at)
        value = integer_value(given, scope, "ntop()")
        return _inet(constant(_AF_INET, at), converted(converted(value, UINT32), UINT64), constant(0, at))
    family = integer_value(arguments[0], scope, "ntop()") if len(arguments) > 1 else _family(kind, call, scope)
    start = tree.Cast(UINT64, at, tree.Cast(Pointer(kind.of), at, e) if isinstance(kind, Array) else e)
    into = pointer_into(UINT64, e, scope)
    short = tree.Cast(UINT64, at, _read(UINT32, start, into))
    high = _read(UINT64, start, into)
    low = _read(UINT64, tree.Binary(UINT64, at, "+", start, constant(8, at, UINT64)), into)
    if isinstance(family, tree.Const):
        is_short = family.value == _AF_INET
        return _inet(family, short if is_short else high, constant(0, at) if is_short else low)
    test = tree.Binary(INT, at, "==", family, constant(_AF_INET, at, INT64))
    first = tree.Conditional(UINT64, at, test, short, high)
    return _inet(family, first, tree.Conditional(UINT64, at, test, constant(0, at, UINT64), low))


_AF_INET = 2


def _inet(family: Expr, first: Expr, second: Expr) -> Expr:
    """An address: its family and, as they are in memory, its bytes."""
    kind = structure_of("inet", ("family", "first", "second"), (UINT64, UINT64, UINT64))
    return tree.Compose(kind, family.position, tuple(converted(each, UINT64) for each in (family, first, second)))


def _read(kind: Type, address: Expr, into: Pointer) -> Expr:
    return tree.Deref(kind, address.position, tree.Cast(pointer_like(into, kind), address.position, address))


def _family(kind: Array | Pointer, call: nodes.Call, scope: BtScope) -> Expr:
    for family, size in _BYTES.items():
        if isinstance(kind, Array) and kind.length == size:
            return constant(family, scope.at(call.at))
    raise scope.mistake("ntop() needs a family, or an array of 4 or 16 bytes", call.at)


def _address(call: nodes.Call, scope: BtScope) -> Expr:
    """The constant address that pton() gives."""
    # A module that few programs want, and that costs each start 3 ms.

    if len(call.arguments) != 1:
        raise scope.mistake(f"pton() requires one argument ({len(call.arguments)} provided)", call.at)
    text = literal_text(call.arguments[0], scope, "pton()", call.at).decode(errors="replace")
    family = AF_INET6 if ":" in text else AF_INET
    try:
        packed = inet_pton(family, text)
    except OSError:
        raise scope.mistake(f"pton() expects a valid IPv4/IPv6 address, got {text}", call.at) from None
    words = (constant(int.from_bytes(packed[at : at + 8], "little"), scope.at(call.at), UINT64) for at in (0, 8))
    return _inet(constant(int(family), scope.at(call.at)), *words)


VALUES: dict[str, ValueCall] = {
    "strftime": ValueCall(2, 2, strftime),
    "cgroup_path": ValueCall(1, 2, group_path),
    "macaddr": ValueCall(1, 1, macaddr),
    "ntop": ValueCall(1, 2, ntop),
}
