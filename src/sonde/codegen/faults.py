"""Faults: what stops a clause half-way, and how it gets to the ERROR clauses.

A faulting clause jumps to its fault block with a code (`spec.FAULTS`) and a value in registers; the block, made with
the clause, gives back the record and calls the subprogram with the ERROR clauses.
"""

from __future__ import annotations

from sonde.codegen.generation import Generation
from sonde.codegen.ir import Imm, Operand

BAD_ADDRESS = 1
ILLEGAL_OPERATION = 3
DIVIDE_BY_ZERO = 4
OUT_OF_SCRATCH = 5
BAD_SIZE = 10
BAD_INDEX = 11
LONG_LOOP = 13

ABSENT = 0x100
"""Set in the code of a fault that `deferral.py` may make good: a page of the process may be missing."""


def fault(g: Generation, code: int, value: Operand) -> None:
    """Stop the clause here; code added afterwards must be in a new block."""
    assert g.fault is not None
    g.b.move(g.fault.code, Imm(code))
    g.b.move(g.fault.value, value)
    g.b.move(g.fault.pc, g.b.here())
    g.b.jump(g.fault.label)


def fault_if(g: Generation, op: str, left: Operand, right: Operand, code: int, value: Operand) -> None:
    """Stop the clause if the comparison holds."""
    bad, good = g.b.label(), g.b.label()
    g.b.branch(op, left, right, bad, good)
    g.b.place(bad)
    fault(g, code, value)
    g.b.place(good)
