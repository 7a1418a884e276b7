"""A basic block's instructions as Python."""

from __future__ import annotations

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.runtime.machine.arithmetic import MASKS
from sonde.runtime.machine.translation import values
from sonde.runtime.machine.translation.facts import Facts
from sonde.runtime.machine.translation.helper_calls import call
from sonde.runtime.machine.translation.memory_access import atomic, load, packet, store
from sonde.runtime.machine.translation.stack_slots import StackSlots
from sonde.runtime.machine.translation.statements import Statements
from sonde.runtime.machine.translation.unit import Unit
from sonde.runtime.machine.translation.values import M64, RangedExpression, constant, masked, text


def translate_block(
    unit: Unit, slots: tuple[int, ...], facts: Facts, live_out: frozenset[int], stack: StackSlots
) -> Statements:
    """The block in these slots, where `facts` are known at its beginning and `live_out` is needed behind it."""
    block = Statements(unit, slots, facts, live_out, stack)
    for slot in slots:
        _instruction(block, slot, unit.code[slot])
    return block


def _instruction(block: Statements, slot: int, x: Instruction) -> None:
    match x.opcode & 7:
        case i.ALU | i.ALU64:
            block.define(slot, x.dst, _arithmetic(block, x))
        case i.LDX:
            load(block, slot, x)
        case i.ST:
            store(block, x, constant(x.imm))
        case i.STX if x.opcode & 0xE0 == i.ATOMIC:
            atomic(block, slot, x)
        case i.STX:
            address = block.read(x.dst)
            store(block, x, block.read(x.src), address)
        case i.LD if x.opcode == i.LD_IMM64:
            following = block.unit.code[slot + 1]
            number = x.imm & values.M32 | (following.imm & values.M32) << 32
            block.define(slot, x.dst, constant(number))
        case i.LD:
            packet(block, slot, x)
        case _:
            _flow(block, slot, x)


def _arithmetic(block: Statements, x: Instruction) -> RangedExpression:
    bits, operation = 64 if x.opcode & 7 == i.ALU64 else 32, x.opcode & 0xF0
    if operation == i.END:
        value = block.read(x.dst)
        return masked(value, x.imm) if x.opcode & 15 == i.ALU | i.K else values.swapped(value, x.imm)
    if operation == i.NEG:
        return values.calculate(i.SUB, constant(0), block.read(x.dst), bits)
    if operation == i.MOV:
        value = block.read(x.src) if x.opcode & i.X else constant(x.imm & M64)
        if x.offset:
            return values.extended(value, x.offset, bits)
        return masked(value, 32) if bits == 32 else value
    left = block.read(x.dst)
    right = block.read(x.src) if x.opcode & i.X else constant(x.imm & MASKS[bits])
    if operation in (i.DIV, i.MOD):
        left, right = block.simple(masked(left, bits)), block.simple(masked(right, bits))
    return values.calculate(operation, left, right, bits, x.offset == 1)


def _flow(block: Statements, slot: int, x: Instruction) -> None:
    operation = x.opcode & 0xF0
    if x.opcode & 0xF7 == i.JMP | i.CALL:
        call(block, slot, x)
    elif x.opcode == i.JMP | i.EXIT:
        block.emit(f"return {text(masked(block.read(i.R0)))}")
    elif operation == i.JCOND:
        block.emit("loops -= 1")
        block.condition = "loops < 0", "loops >= 0"
    elif operation != i.JA:
        bits = 64 if x.opcode & 7 == i.JMP else 32
        left = block.read(x.dst)
        right = block.read(x.src) if x.opcode & i.X else constant(x.imm & MASKS[bits])
        block.condition = values.condition(operation, left, right, bits)
