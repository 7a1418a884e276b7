"""Faults: what stops a clause half-way, and how it gets to the ERROR clauses.

In programs that go on behind some of them (`Program.goes_on`) such a fault is only reported, from where it happens.

A faulting clause jumps to its fault block with a code (`spec.FAULTS`) and a value in registers; the block, made with
the clause, gives back the record and calls the subprogram with the ERROR clauses.
"""

from __future__ import annotations

from sonde.codegen.basis.generation import Generation
from sonde.codegen.basis.names import epid
from sonde.codegen.intermediate.ir import Imm, Operand
from sonde.model.program import Clause

BAD_ADDRESS = 1
ILLEGAL_OPERATION = 3
DIVIDE_BY_ZERO = 4
OUT_OF_SCRATCH = 5
USER_ACCESS = 7
BAD_SIZE = 10
BAD_INDEX = 11
LONG_LOOP = 13
LONG_TIME = 14

ERROR_ROUTINE = "error_clauses"
"""The subprogram with the clauses of ERROR."""

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


def report(g: Generation, clause: Clause) -> None:
    """Run the ERROR clauses for the fault that the registers tell of, and write its record."""
    assert g.fault is not None
    which = epid(g, clause)
    budget = g.address(g.turns) if g.turns is not None else Imm(0)
    g.b.call_local(ERROR_ROUTINE, g.ctx, g.b.in_register(which), g.b.in_register(packed(g)), g.fault.value, budget)


def fault_or_go_on(g: Generation, code: int, value: Operand) -> None:
    """A fault or, in a program whose clauses go on behind it, only its report: code added afterwards is for that."""
    if not g.shared.goes_on or g.clause is None or code >= ABSENT:
        fault(g, code, value)
        return
    if g.is_error_routine or g.clause.is_hidden:
        g.count("errors")
        return
    assert g.fault is not None
    g.b.move(g.fault.code, Imm(code))
    g.b.move(g.fault.value, value)
    g.b.move(g.fault.pc, g.b.here())
    report(g, g.clause)


def fault_if(g: Generation, op: str, left: Operand, right: Operand, code: int, value: Operand) -> None:
    """Stop the clause if the comparison holds."""
    bad, good = g.b.label(), g.b.label()
    g.b.branch(op, left, right, bad, good)
    g.b.place(bad)
    fault(g, code, value)
    g.b.place(good)
