"""typeinfo(): what a type is called, as a record of constants."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.type_names import type_of
from sonde.frontends.bpftrace.check.types import (
    base_name,
    spelled,
)
from sonde.frontends.bpftrace.check.unstable import require_enabled
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Expr
from sonde.model.types import BOOL


def type_information(call: nodes.Call, scope: BtScope) -> Expr:
    """typeinfo(type or expression)."""
    return scope.expression(_record(call, scope), scope)


def described_part(call: nodes.Call, node: nodes.Member, scope: BtScope) -> Expr:
    """A member of that record, which is a constant. Raises BtError for one that is not there."""
    found = dict(zip(_PARTS, _record(call, scope).items, strict=True))
    if node.name not in found:
        raise scope.mistake(f"Record does not contain a field named '{node.name}'", node.at)
    return scope.expression(found[node.name], scope)


_NOWHERE = SourceSpan(1, 1, 1, 1)
_PARTS = ("btf_id", "base_type", "full_type")


def _record(call: nodes.Call, scope: BtScope) -> nodes.RecordExpression:
    require_enabled("typeinfo", "unstable_typeinfo", call.at, scope)
    if len(call.arguments) != 1:
        raise scope.mistake(f"typeinfo() requires one argument ({len(call.arguments)} provided)", call.at)
    kind = type_of(call.arguments[0], scope)
    # The same text at one place, so that equal types are equal nodes.
    base, whole = (nodes.StringLiteral(_NOWHERE, each.encode()) for each in (base_name(kind), spelled(kind)))
    return nodes.RecordExpression(call.at, _PARTS, (nodes.Number(call.at, 0), base, whole))


def are_alike(node: nodes.Binary, scope: BtScope) -> Expr:
    """Whether two types are the same, as `==` or `!=` asks, which is known when the program is compiled."""
    assert isinstance(node.left, nodes.Call)
    assert isinstance(node.right, nodes.Call)
    same = _record(node.left, scope).items[1:] == _record(node.right, scope).items[1:]
    return tree.Const(BOOL, scope.at(node.at), int(same == (node.op == "==")))
