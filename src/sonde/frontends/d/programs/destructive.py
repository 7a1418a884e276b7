"""Whether a program does more to the system than look at it."""

from __future__ import annotations

from sonde.frontends.d.check.prototypes import DESTRUCTIVE
from sonde.model.program import Act, Call, FormattedCommand, Program
from sonde.model.walk import nodes


def is_destructive(program: Program) -> bool:
    """By what the program says."""
    return any(
        isinstance(node, FormattedCommand) or (isinstance(node, (Act, Call)) and node.name in DESTRUCTIVE)
        for clause in program.clauses
        for node in nodes(clause)
    )
