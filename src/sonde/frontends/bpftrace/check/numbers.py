"""Functions and built-in variables that give numbers, pointers, and names of related processes."""

from __future__ import annotations

import time
from collections.abc import Callable

from sonde.frontends.bpftrace.check.conversions import constant, integer_value
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import (
    UINT64,
    base_name,
    is_integer,
    spelled,
)
from sonde.frontends.bpftrace.check.value_call import ValueCall
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.probe import Internal, StaticProbe, Uprobe
from sonde.model.program import Expr
from sonde.model.types import INT, VOID, Pointer, Struct, Type, resolve, size_of
from sonde.model.units import SECOND

_SWAPS = {2: "htons", 4: "htonl", 8: "htonll"}
"""What swaps integers of so many bytes."""


def bswap(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """The bytes of an integer in the other order: of as many as its type has."""
    e = scope.expression(arguments[0], scope)
    integer_value(arguments[0], scope, "bswap()")
    kind = resolve(e.type)
    size = size_of(kind)
    if size == 1:
        return e
    return tree.Call(kind, scope.at(call.at), _SWAPS[size], (e,))


def of_space(is_user: bool) -> Callable[[nodes.Call, list[nodes.Expr], BtScope], Expr]:
    """uptr() and kptr(): the pointer, into memory of the process or of the kernel."""

    def made(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
        e = scope.expression(arguments[0], scope)
        kind = resolve(e.type)
        if is_integer(kind):
            if is_user and not scope.known.has_processes:
                scope.known.has_processes = scope.known.changed = True
            return tree.Cast(e.type, scope.at(call.at), tree.Cast(Pointer(VOID, is_user), scope.at(call.at), e))
        if not isinstance(kind, Pointer):
            text = f"{call.name}() only supports integer or pointer arguments ({base_name(e.type)} provided)"
            raise scope.mistake(text, call.at)
        return tree.Cast(Pointer(kind.to, is_user), scope.at(call.at), e)

    return made


def member_of(task: Expr, name: str, span: SourceSpan, scope: BtScope) -> Expr:
    """A member of the kernel's structure that a pointer leads to."""
    kind = resolve(task.type)
    structure = resolve(kind.to) if isinstance(kind, Pointer) else None
    member = structure.find(name) if isinstance(structure, Struct) else None
    if member is None or not isinstance(kind, Pointer):
        raise scope.mistake(f"{spelled(task.type)} has no member '{name}' that is known here", span)
    return tree.MemberOf(member.type, task.position, tree.Deref(kind.to, task.position, task), member)


def of_machine(name: str, kind: Type) -> Callable[[SourceSpan, BtScope], Expr]:
    """What a variable of the model has."""

    def made(span: SourceSpan, scope: BtScope) -> Expr:
        return tree.Builtin(kind, scope.at(span), name)

    return made


def usermode(span: SourceSpan, scope: BtScope) -> Expr:
    """Whether the process's own code was running, as far as the kind of probe tells."""
    if scope.attached.kind in _SAMPLED:
        # Where the kernel was, 0 where it was not running.
        at = scope.at(span)
        place = tree.Builtin(UINT64, at, "arg0")
        return tree.Cast(UINT64, at, tree.Binary(INT, at, "==", place, constant(0, at, UINT64)))
    found = {isinstance(each.firing, (Uprobe, StaticProbe, Internal)) for each in scope.attached.probes}
    if len(found) != 1:
        raise scope.mistake(f"usermode is not supported at {scope.attached.kind} probes", span)
    return constant(int(found.pop()), scope.at(span))


_SAMPLED = ("profile", "interval", "hardware", "software")


def clock(call: nodes.Call, arguments: list[nodes.Expr], scope: BtScope) -> Expr:
    """nsecs([clock]): ns since the system was started, or by the clock that is named."""
    name = arguments[0].name if arguments and isinstance(arguments[0], nodes.Name) else "" if arguments else "boot"
    model = _CLOCKS.get(name)
    if model is None:
        text = f"Invalid timestamp mode: {name}: there are {', '.join(_CLOCKS)}"
        raise scope.mistake(text, arguments[0].at)
    at = scope.at(call.at)
    found = tree.Builtin(UINT64, at, model)
    if name not in _ATOMIC:
        return found
    return tree.Binary(UINT64, at, "+", found, constant(_leap_seconds() * SECOND, at, UINT64))


def _leap_seconds() -> int:
    """What the clock of atomic time is ahead of the wall clock, as far as the machine has been told."""
    return round((time.clock_gettime_ns(time.CLOCK_TAI) - time.time_ns()) / SECOND)


_CLOCKS = {"boot": "timestamp", "monotonic": "timestamp", "tai": "walltimestamp", "sw_tai": "walltimestamp"}
_ATOMIC = ("tai", "sw_tai")


VALUES: dict[str, ValueCall] = {
    "bswap": ValueCall(1, 1, bswap),
    "uptr": ValueCall(1, 1, of_space(True)),
    "kptr": ValueCall(1, 1, of_space(False)),
    "nsecs": ValueCall(0, 1, clock),
}
