"""Memory further from its base than an instruction's 16-bit offset reaches: the distance is added to the base first."""

from __future__ import annotations

from sonde.codegen.intermediate import ir
from sonde.codegen.intermediate.ir import BpfFunction, Imm, Reg

_REACH = 1 << 15
_STEP = 1 << 14
"""Bases are moved by multiples of this, so that neighbouring accesses share one."""


def split_offsets(function: BpfFunction) -> None:
    """In place; most functions have nothing so large."""
    for block in function.blocks:
        if any(_is_far(instruction) for instruction, _ in block.code):
            block.code = [pair for each in block.code for pair in _split(function, *each)]


def _is_far(instruction: ir.Instruction) -> bool:
    return (
        isinstance(instruction, (ir.Load, ir.Store, ir.Atomic))
        and isinstance(instruction.base, Reg)
        and not -_REACH <= instruction.offset < _REACH
    )


def _split(function: BpfFunction, instruction: ir.Instruction, position: int) -> list[tuple[ir.Instruction, int]]:
    if not _is_far(instruction):
        return [(instruction, position)]
    assert isinstance(instruction, (ir.Load, ir.Store, ir.Atomic))
    assert isinstance(instruction.base, Reg)
    moved = Reg(function.registers)
    function.registers += 1
    offset = instruction.offset % _STEP
    distance = Imm(instruction.offset - offset)
    near = instruction._replace(base=moved, offset=offset)
    return [(ir.Alu(moved, "add", instruction.base, distance), position), (near, position)]
