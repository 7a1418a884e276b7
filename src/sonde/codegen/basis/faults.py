"""Faults: what stops a clause half-way, and how it gets to the ERROR clauses.

A faulting clause jumps to its fault block with a code (`spec.FAULTS`) and a value in registers; the block, made with
the clause, gives back the record and calls the subprogram with the ERROR clauses.
"""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.intermediate.ir import Imm, Operand

BAD_ADDRESS = 1
ILLEGAL_OPERATION = 3
DIVIDE_BY_ZERO = 4
OUT_OF_SCRATCH = 5
USER_ACCESS = 7
BAD_SIZE = 10
BAD_INDEX = 11
LONG_LOOP = 13
LONG_TIME = 14

DEFER, FINAL = "defer_firing", 0xFFFF
"""The subprogram that keeps a firing (`codegen/clauses/deferral.py`), and the progress of one that cannot go on."""

KEPT = 0x200
"""Set in the code of a fault whose firing is kept already, to go on later."""

ABSENT = 0x100
"""Set in the code of a fault that `codegen/clauses/deferral.py` may make good: a page of the process may be missing."""


def fault(g: Generation, code: int, value: Operand) -> None:
    """Stop the clause here; code added afterwards must be in a new block."""
    assert g.fault is not None
    g.b.move(g.fault.code, Imm(code))
    g.b.move(g.fault.value, value)
    g.b.move(g.fault.pc, g.b.here())
    g.b.jump(g.fault.label)


def packed(g: Generation) -> Operand:
    """The fault's code and place as one parameter of the ERROR routine, which can have no more than five."""
    assert g.fault is not None
    return g.b.alu("or", g.b.alu("lsh", g.fault.code, Imm(32)), g.b.extend(g.fault.pc, 4, False))


def unpacked(g: Generation) -> tuple[Operand, Operand, Operand]:
    """In the ERROR routine: the fault's place, code and value."""
    _, _, both, value, _ = g.parameters
    return g.b.extend(both, 4, False), g.b.alu("rsh", both, Imm(32)), value


def fault_if(g: Generation, op: str, left: Operand, right: Operand, code: int, value: Operand) -> None:
    """Stop the clause if the comparison holds."""
    bad, good = g.b.label(), g.b.label()
    g.b.branch(op, left, right, bad, good)
    g.b.place(bad)
    fault(g, code, value)
    g.b.place(good)
