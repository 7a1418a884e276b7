"""Warnings of values that become ones of another type without a cast, which may change them."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import (
    INT64,
    UINT64,
    integer,
    is_bool,
    is_composed,
    is_flexible,
    is_literal,
    merged,
    spelled,
)
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Expr
from sonde.model.types import Int, Pointer, Struct, Type, is_signed, resolve, size_of

_COMPARING = ("==", "!=", "<", ">", "<=", ">=")


def warn_of_cast(node: nodes.Expr, value: Expr, kind: Type, scope: BtScope) -> None:
    """Where a value becomes one of `kind`, which may not hold it. Literals that do not fit are mistakes, elsewhere."""
    base = resolve(value.type)
    if is_composed(value.type) and isinstance(base, Struct):
        _warn_of_members(node, value, base, kind, scope)
        return
    is_constant = isinstance(value, tree.Const) and (is_literal(value.type) or not isinstance(node, nodes.Cast))
    if not is_constant and not isinstance(value, tree.Aggregated):
        _warn(node, value.type, kind, scope)


def _warn_of_members(node: nodes.Expr, value: Expr, base: Struct, kind: Type, scope: BtScope) -> None:
    whole = resolve(kind)
    if not isinstance(whole, Struct) or {each.name for each in whole.members} != {each.name for each in base.members}:
        return
    kinds = {member.name: member.type for member in whole.members}
    items = node.items if isinstance(node, (nodes.Tuple, nodes.RecordExpression)) else (node,) * len(base.members)
    if isinstance(value, tree.Compose) and len(items) == len(value.values):
        for member, part, item in zip(base.members, value.values, items, strict=True):
            warn_of_cast(item, part, kinds[member.name], scope)
        return
    for member in base.members:
        _warn(node, member.type, kinds[member.name], scope)


def _warn(node: nodes.Expr, source: Type, kind: Type, scope: BtScope) -> None:
    if _is_number(source) and _is_number(kind) and not _fits(source, kind):
        scope.remark(
            f"Expression of type: {spelled(source)} being cast to type: {spelled(kind)}. This may cause unexpected "
            "results. Use an explicit cast to suppress this warning.",
            node.at,
        )


def _is_number(kind: Type) -> bool:
    return isinstance(resolve(kind), Int) and not is_bool(kind)


def _fits(source: Type, kind: Type) -> bool:
    """A signed type holds an unsigned one's values if it is wider."""
    if is_flexible(source) or is_signed(source) == is_signed(kind):
        return size_of(source) <= size_of(kind)
    return not is_signed(source) and size_of(source) < size_of(kind)


def warn_of_operands(
    op: str, sides: tuple[tuple[nodes.Expr, Expr], tuple[nodes.Expr, Expr]], node: nodes.Expr | nodes.Assign,
    scope: BtScope,
) -> None:  # fmt: skip
    """Of numbers that an operator makes into ones of another type, and of signed ones that are divided."""
    (_, left), (_, right) = sides
    if not (_is_number(left.type) and _is_number(right.type)):
        return
    one, other = _like(left.type, right.type), _like(right.type, left.type)
    has_sign = is_signed(one) or is_signed(other)
    if op in _COMPARING:
        kind = merged(left.type, right.type)
    else:
        kind = INT64 if has_sign or op == "-" else UINT64
    if op in ("/", "%") and has_sign and one != other and not _are_literals(left, right):
        text = f"signed operands for '{op}': the result is rounded towards 0 (cast to unsigned to silence warning)"
        scope.remark(text, node.at)
    if kind is not None and not _are_alike(left.type, right.type, op):
        for item, value in sides:
            warn_of_cast(item, value, kind, scope)


def _like(kind: Type, other: Type) -> Int:
    """A number's type, with the sign of the other one's where it has none of its own."""
    of = other if is_flexible(kind) and not is_flexible(other) else kind
    return integer(size_of(kind), is_signed(of))


def _are_alike(left: Type, right: Type, op: str) -> bool:
    """Whether nothing becomes of another type."""
    is_same = size_of(left) == size_of(right) and is_signed(left) == is_signed(right)
    return is_same and (op in _COMPARING or is_signed(left))


def _are_literals(*values: Expr) -> bool:
    return all(isinstance(each, tree.Const) and is_literal(each.type) for each in values)


def warn_of_pointers(node: nodes.Binary, left: Expr, right: Expr, scope: BtScope) -> None:
    """Of pointers to different types that are compared."""
    one, other = resolve(left.type), resolve(right.type)
    if not isinstance(one, Pointer) or not isinstance(other, Pointer) or spelled(one.to) == spelled(other.to):
        return
    scope.remark(f"comparison of distinct pointer types: {spelled(one.to)}, {spelled(other.to)}", node.at)
    for side, name, of in ((node.left, "left", one), (node.right, "right", other)):
        scope.remark(f"{name} ({spelled(of.to)})", side.at)
