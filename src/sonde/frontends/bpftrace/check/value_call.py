"""What is known of a function with a value, and of one that is a statement, before it is checked."""

from __future__ import annotations

from collections.abc import Callable

from sonde.frontends.bpftrace.check.scope import BtScope
from sonde.frontends.bpftrace.syntax import nodes
from sonde.model.program import Expr, Statement
from sonde.typed import NamedTuple, TypeAlias

Check: TypeAlias = Callable[[nodes.Call, list[nodes.Expr], BtScope], Expr]
Action: TypeAlias = Callable[[nodes.Call, BtScope], Statement]


class ValueCall(NamedTuple):
    """A function with a value: the fewest and most arguments, and what checks it."""

    least: int
    most: int
    check: Check
