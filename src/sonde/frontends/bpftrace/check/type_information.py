"""typeinfo(): what a type is called, as a record of constants."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.type_names import type_of
from sonde.frontends.bpftrace.check.types import is_bool, is_composed, is_text, spelled
from sonde.frontends.bpftrace.errors import SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Expr
from sonde.model.types import BOOL, Array, Enum, Int, Pointer, Struct, Type, resolve

_STACKS = ("kstack", "ustack")


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
    if scope.settings["unstable_typeinfo"] == "error":
        text = "typeinfo feature is not enabled by default. To enable this unstable feature, set the config flag to "
        raise scope.mistake(f"{text}enable. unstable_typeinfo=enable", call.at)
    if len(call.arguments) != 1:
        raise scope.mistake(f"typeinfo() requires one argument ({len(call.arguments)} provided)", call.at)
    kind = type_of(call.arguments[0], scope)
    # The same text at one place, so that equal types are equal nodes.
    base, whole = (nodes.StringLiteral(_NOWHERE, each.encode()) for each in (_base(kind), spelled(kind)))
    return nodes.RecordExpression(call.at, _PARTS, (nodes.Number(call.at, 0), base, whole))


def _base(kind: Type) -> str:
    base = resolve(kind)
    if is_text(base):
        return "string"
    if is_bool(base):
        return "bool"
    if isinstance(base, (Int, Enum)):
        return "int"
    if isinstance(base, Pointer):
        return "pointer"
    if isinstance(base, Array):
        return "array"
    if isinstance(base, Struct) and is_composed(base):
        return next((each for each in _STACKS if base.keyword.startswith(each)), base.keyword)
    return "c_type" if isinstance(base, Struct) else "void"


def are_alike(node: nodes.Binary, scope: BtScope) -> Expr:
    """Whether two types are the same, as `==` or `!=` asks, which is known when the program is compiled."""
    assert isinstance(node.left, nodes.Call)
    assert isinstance(node.right, nodes.Call)
    same = _record(node.left, scope).items[1:] == _record(node.right, scope).items[1:]
    return tree.Const(BOOL, scope.at(node.at), int(same == (node.op == "==")))
