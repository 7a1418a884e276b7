"""`timestamp` is one value all through a clause, though some of its uses may be skipped.

Value numbering makes one reading of all that a first one dominates. Where the first use may be skipped (an arm of ?:,
the right of a logical operator, a branch) and others follow, the clock is read ahead of the whole statement instead.
"""

from __future__ import annotations

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.basis.generation import Generation
from sonde.codegen.intermediate.ir import Reg
from sonde.model import program as tree
from sonde.model.program import Clause
from sonde.model.walk import below, nodes
from sonde.typed import Any

_CLOCK = "timestamp"


def reading(g: Generation) -> Reg:
    """The clock, for all uses in the clause."""
    if g.clock is not None:
        return g.clock
    if g.firing_time is not None:
        return g.firing_time
    assert g.clause is not None
    return g.b.call(NUMBERS["ktime_get_ns"], pure=f"time{g.clause.id}")


def is_shared(clause: Clause) -> bool:
    """Whether the clause looks at the clock more than once."""
    return _uses(*nodes(clause)) > 1


def prepare_predicate(g: Generation, predicate: tree.Expr) -> None:
    """Before a predicate of a clause that shares the clock: read it if a use may be skipped."""
    if any(_may_skip(part) for part in _conjuncts(predicate)):
        reading(g)


def prepare(g: Generation, statement: tree.Statement) -> None:
    """The same before a statement."""
    if _may_skip(statement):
        reading(g)


def is_used(statement: tree.Statement) -> bool:
    return _uses(*below(statement)) > 0


def _conjuncts(predicate: tree.Expr) -> list[tree.Expr]:
    """The operands of the outermost &&: all of them have been evaluated where the clause's body runs."""
    if isinstance(predicate, tree.Binary) and predicate.op == "&&":
        return [*_conjuncts(predicate.left), *_conjuncts(predicate.right)]
    return [predicate]


def _may_skip(part: Any) -> bool:
    for node in below(part):
        if isinstance(node, tree.Conditional) and _uses(*below(node.then), *below(node.otherwise)):
            return True
        if isinstance(node, tree.Binary) and node.op in ("&&", "||", "^^") and _uses(*below(node.right)):
            return True
        if isinstance(node, (tree.If, tree.Loop, tree.Each, tree.Inlined)) and _uses(*below(node)):
            return True
    return False


def _uses(*found: Any) -> int:
    return sum(isinstance(node, tree.Builtin) and node.name == _CLOCK for node in found)
