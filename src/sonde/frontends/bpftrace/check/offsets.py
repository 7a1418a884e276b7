"""Where members of structures lie: offsetof() and container_of()."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.conversions import constant
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.type_names import type_of
from sonde.frontends.bpftrace.check.types import UINT64, spelled
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.kinds import pointer_like
from sonde.model.program import Expr
from sonde.model.types import Pointer, Struct, Type, resolve


def offset(node: nodes.Offset, scope: BtScope) -> Expr:
    """offsetof(type, member), of an expression the offset in its type."""
    return constant(_bytes_before(type_of(node.of, scope), node.path, node.at, scope), scope.at(node.at), UINT64)


def container_of(call: nodes.Call, scope: BtScope) -> Expr:
    """container_of(pointer, type, member): the structure that the pointer's object is a member of."""
    if len(call.arguments) != 3:
        raise scope.mistake(f"container_of() requires 3 arguments ({len(call.arguments)} provided)", call.at)
    given, named, member = call.arguments
    path = _path(member)
    if isinstance(given, nodes.TypeName) or path is None:
        raise scope.mistake("container_of() takes a pointer, a type and a member", call.at)
    pointer = scope.expression(given, scope)
    of = resolve(pointer.type)
    if not isinstance(of, Pointer):
        text = f"container_of() only supports pointer arguments ({spelled(pointer.type)} provided)"
        raise scope.mistake(text, call.at)
    kind = type_of(named, scope)
    at = scope.at(call.at)
    before = constant(_bytes_before(kind, path, call.at, scope), at, UINT64)
    address = tree.Binary(UINT64, at, "-", tree.Cast(UINT64, at, pointer), before)
    return tree.Cast(pointer_like(of, kind), at, address)


def _path(node: nodes.Expr | nodes.TypeName) -> tuple[str, ...] | None:
    """The names of a member, and of members of it."""
    if isinstance(node, nodes.Name):
        return (node.name,)
    if isinstance(node, nodes.TypeName) and not node.suffixes and node.of is None:
        return (node.words,)
    before = _path(node.object) if isinstance(node, nodes.Member) else None
    return None if before is None or not isinstance(node, nodes.Member) else (*before, node.name)


def _bytes_before(kind: Type, path: tuple[str, ...], span: SourceSpan, scope: BtScope) -> int:
    bits = 0
    for name in path:
        base = resolve(kind)
        if not isinstance(base, Struct):
            raise scope.mistake(f"'{spelled(kind)}' is not a C type.", span)
        member = base.find(name)
        if member is None:
            raise scope.mistake(f"'{spelled(base)}' has no field named '{name}'", span)
        if member.bits:
            raise scope.mistake(f"'{name}' is a bit-field, which has no offset", span)
        bits, kind = bits + member.offset, member.type
    return bits // 8
