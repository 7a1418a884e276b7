"""Scratch memory that a clause leaves to the next ones of its firing (`codegen/expressions/region.py`), with a
clause-local variable that points there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.codegen.basis.clause_state import Carrying
from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.places import Memory
from sonde.codegen.expressions.access import copy
from sonde.codegen.expressions.region import address_of, reserve, size_of_region, taken
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model import program as tree
from sonde.model.program import Clause, Variable
from sonde.model.walk import nodes

_MOST_CARRIED = 1 << 15
"""Bytes that the clauses of a firing leave to each other at most, if each may take less."""


def plan(g: Generation, clauses: Sequence[Clause]) -> None:
    """Find out whether clause-local variables carry pointers from one of a program's clauses to another."""
    users: dict[Variable, set[int]] = {}
    givers: set[int] = set()
    for clause in clauses:
        for node in nodes(clause):
            if isinstance(node, tree.Var) and node.variable.scope == "this" and node.variable.id in g.shared.scratch:
                if g.shared.scratch[node.variable.id]:
                    users.setdefault(node.variable, set()).add(clause.id)
            elif isinstance(node, tree.Assign) and isinstance(node.target, tree.Var):
                givers |= _given(g, clause, node.target.variable)
    if not any(len(found) > 1 for found in users.values()):
        return
    own = g.shared.settings.scratch_region
    # One that is broken off takes some of its memory twice (`deferral.py`).
    size = max(own, min(own * (len(givers) + 2), _MOST_CARRIED))
    g.carrying = Carrying(frozenset(users), frozenset(givers), size, g.lasting(8))


def _given(g: Generation, clause: Clause, variable: Variable) -> set[int]:
    return {clause.id} if variable.scope == "this" and g.shared.scratch.get(variable.id) else set()


def set_up(g: Generation) -> None:
    """Nothing is taken when a firing begins."""
    if g.carrying is not None:
        g.b.store(g.carrying.taken.base, g.carrying.taken.offset, 8, Imm(0))


def end(g: Generation, clause: Clause) -> None:
    """What the clause has allocated remains if it may have set a variable that carries it on."""
    if g.carrying is not None and g.region is not None and clause.id in g.carrying.givers:
        g.b.store(g.carrying.taken.base, g.carrying.taken.offset, 8, g.region.top)


def keep(g: Generation, target: Memory) -> None:
    """Keep what the firing has allocated, with its address, where it is broken off (`deferral.py`)."""
    memory = reserve(g)
    top = g.region.top if g.region is not None else taken(g)
    g.b.store(target.base, target.offset, 8, address_of(g, memory))
    g.b.store(target.base, target.offset + 8, 8, top)
    copy(g, memory, Memory(target.base, target.offset + 16), size_of_region(g))


def restore(g: Generation, source: Memory) -> Callable[[Operand], Operand]:
    """Have it again, in another frame: gives a function that moves a pointer there."""
    assert g.carrying is not None
    memory = reserve(g)
    copy(g, Memory(source.base, source.offset + 16), memory, size_of_region(g))
    g.b.store(g.carrying.taken.base, g.carrying.taken.offset, 8, g.b.load(source.base, source.offset + 8, 8))
    before = g.b.copy(g.b.load(source.base, source.offset, 8))
    here = g.b.copy(address_of(g, memory))

    def moved(pointer: Operand) -> Operand:
        offset = g.b.copy(g.b.alu("sub", pointer, before))
        return g.b.choose("gt", offset, Imm(size_of_region(g)), lambda: pointer, lambda: g.b.alu("add", here, offset))

    return moved
