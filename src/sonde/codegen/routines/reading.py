"""Reading kernel memory in routines."""

from __future__ import annotations

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import Imm, Operand, SlotAddress


def read(b: Builder, address: Operand, offset: int, size: int, bad: int) -> Operand:
    """The unsigned integer or pointer of `size` bytes at address + offset; to block `bad` if it cannot be read."""
    slot = b.slot(8)
    result = b.call(NUMBERS["probe_read_kernel"], SlotAddress(slot), Imm(size), b.alu("add", address, Imm(offset)))
    b.branch("slt", result, Imm(0), bad)
    value = b.load(slot, 0, size)
    b.release(slot)
    return value
