"""Operators of string literals, which come to literals: joined, compared, or without their first characters."""

from __future__ import annotations

from collections.abc import Callable

from sonde.frontends.bpftrace.check.conversions import constant
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import is_literal
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model import program as tree
from sonde.model.program import Expr
from sonde.model.types import BOOL, STRING

_COMPARED: dict[str, Callable[[bytes, bytes], bool]] = {
    "==": bytes.__eq__, "!=": bytes.__ne__, "<": bytes.__lt__, "<=": bytes.__le__, ">": bytes.__gt__,
    ">=": bytes.__ge__,
}  # fmt: skip


def folded(node: nodes.Binary, left: Expr, right: Expr, scope: BtScope) -> Expr | None:
    """What is made of two string literals, or of one and a number, None where it is no literal. Raises BtError for an
    operator that literals do not have."""
    at = scope.at(node.at)
    text, other = (left, right) if isinstance(left, tree.StringConst) else (right, left)
    assert isinstance(text, tree.StringConst)
    if isinstance(other, tree.StringConst):
        if node.op == "+":
            return tree.StringConst(STRING, at, text.value + other.value)
        if node.op not in _COMPARED:
            raise scope.mistake("illegal literal operation with strings", node.at)
        return constant(int(_COMPARED[node.op](text.value, other.value)), at, BOOL)
    if node.op != "+" or not isinstance(other, tree.Const) or not is_literal(other.type) or other.value < 0:
        return None
    if other.value >= len(text.value):
        scope.remark("literal string will always be empty", node.at)
    return tree.StringConst(STRING, at, text.value[other.value :])
