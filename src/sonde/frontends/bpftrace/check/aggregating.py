"""The names of aggregating functions, which are assigned to maps."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.syntax import nodes

ARGUMENTS = {"count": 0, "sum": 1, "min": 1, "max": 1, "avg": 1, "stats": 1, "hist": 1, "lhist": 4}
"""How many arguments each has; hist() may have one more."""

NAMES = frozenset({*ARGUMENTS, "tseries"})


def is_aggregating(node: nodes.Expr) -> bool:
    return isinstance(node, nodes.Call) and node.name in NAMES


NUMBERS = frozenset({"count", "sum", "min", "max", "avg"})
"""Functions that come to a number."""


def shown_function(node: nodes.Expr, scope: BtScope) -> str:
    """The aggregating function whose value, which can be shown alone, a map has; "" for anything else."""
    if not isinstance(node, nodes.MapName):
        return ""
    use = scope.map(node.name, node.at)
    return use.function if use.function not in NUMBERS else ""
