"""`timestamp` is one value all through a clause, though some of its uses may be skipped.

Value numbering makes one reading of all that a first one dominates. Where the first use may be skipped (an arm of ?:,
the right of a logical operator) and others follow, the clock is read ahead of the whole statement instead.
"""

from __future__ import annotations

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.generation import Generation
from sonde.codegen.ir import Reg
from sonde.codegen.walk import below, nodes
from sonde.lang import program as tree
from sonde.lang.program import Clause
from sonde.typed import Any

_CLOCKS = ("timestamp", "walltimestamp")


def reading(g: Generation) -> Reg:
    """The clock, for all uses in the clause."""
    assert g.clause is not None
    return g.b.call(NUMBERS["ktime_get_ns"], pure=f"time{g.clause.id}")


def prepare(g: Generation, clause: Clause, part: Any) -> None:
    """Before the code of a statement or predicate: read the clock if a use in it may be skipped."""
    is_predicate = part is clause.predicate
    if _uses(*nodes(clause)) > 1 and any(_may_skip(p) for p in (_conjuncts(part) if is_predicate else [part])):
        reading(g)


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
    return False


def _uses(*found: Any) -> int:
    return sum(isinstance(node, tree.Builtin) and node.name in _CLOCKS for node in found)
