"""Subroutines that copy memory of the traced process or of the kernel."""

from __future__ import annotations

from sonde.codegen.access import as_number
from sonde.codegen.faults import BAD_ADDRESS, OUT_OF_SCRATCH, fault_if
from sonde.codegen.generation import Generation
from sonde.codegen.ir import Imm, Operand
from sonde.codegen.places import Memory
from sonde.lang import program as tree

COPYIN_LIMIT = 4096
"""The most bytes a copyin() of a size not known at compile time takes."""


def copyin(g: Generation, e: tree.Call) -> Operand:
    """The address of a copy in scratch memory."""
    address = g.value(e.arguments[0])
    length = g.value(e.arguments[1])
    size = length.value if isinstance(length, Imm) else COPYIN_LIMIT
    if not isinstance(length, Imm):
        fault_if(g, "gt", length, Imm(COPYIN_LIMIT), OUT_OF_SCRATCH, length)
    box = g.number_box()
    memory = Memory(box.base, g.scratch.take(max(size, 8)))
    target = g.argument_of(memory.base, memory.offset)
    result = g.call("probe_read_user", target, length, address)
    fault_if(g, "slt", result, Imm(0), BAD_ADDRESS, address)
    return as_number(g, memory)
