"""What messages call the type of a value."""

from __future__ import annotations

from sonde.frontends.bpftrace.check import maps
from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.check.types import spelled
from sonde.model.program import Expr, Var


def called(e: Expr, scope: BtScope) -> str:
    """Strings with the bytes that they take."""
    local = scope.find(f"${e.variable.name}") if isinstance(e, Var) else None
    return spelled((local and local.written) or maps.written(e, scope))
