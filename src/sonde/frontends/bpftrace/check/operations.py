"""Expressions of operators, variables, tuples and blocks, which the smallest programs do without."""

from __future__ import annotations

from sonde.frontends.bpftrace.check import operators
from sonde.frontends.bpftrace.check.blocks import block_value
from sonde.frontends.bpftrace.check.maps import element, increment, scratch
from sonde.frontends.bpftrace.check.tuples import composed
from sonde.frontends.bpftrace.syntax import nodes
from sonde.typed import Any

CHECKS: dict[type, Any] = {
    nodes.ScratchVariable: scratch, nodes.MapName: element, nodes.Increment: increment, nodes.Unary: operators.unary,
    nodes.Binary: operators.binary, nodes.Ternary: operators.ternary, nodes.BlockValue: block_value,
    nodes.Tuple: composed, nodes.RecordExpression: composed,
}  # fmt: skip
