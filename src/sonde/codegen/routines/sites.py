"""Where the arguments of static probes are that are found while tracing: rows of a table (`spec.SITE_ARGUMENT`)."""

from __future__ import annotations

from sonde.bpf.helpers import NUMBERS
from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import BpfFunction, Imm, Operand, Reg, SlotAddress
from sonde.model.named_maps import NO_REGISTER

HOW, LAST, ABOVE, SIGNED, SCALE, BELOW, FIRST, SECOND, ADDED = 0, 1, 2, 3, 4, 5, 6, 8, 16
"""Offsets of what a place says."""


def site_argument() -> BpfFunction:
    """(context, place): the sum of two registers, the second one shifted, and a number: a value or its address.

    Which registers is not known to the verifier, and it lets no program load from somewhere in a context, but read
    there like anywhere in the kernel.
    """
    b = Builder("site_argument", 2)
    context, place = b.function.parameters
    total = b.copy(b.load(place, ADDED, 8))
    slot = b.slot(8)
    _add(b, total, context, b.load(place, FIRST, 2), Imm(0), SlotAddress(slot))
    _add(b, total, context, b.load(place, SECOND, 2), b.load(place, SCALE, 1), SlotAddress(slot))
    b.release(slot)
    b.ret(total)
    return b.function


def _add(b: Builder, total: Reg, context: Reg, offset: Operand, scale: Operand, slot: SlotAddress) -> None:
    with b.when("ne", offset, Imm(NO_REGISTER)):
        b.store(slot.slot, 0, 8, Imm(0))
        b.call(NUMBERS["probe_read_kernel"], slot, Imm(8), b.alu("add", context, offset))
        b.move(total, b.alu("add", total, b.alu("lsh", b.load(slot.slot, 0, 8), b.alu("and", scale, Imm(63)))))
