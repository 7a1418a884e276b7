"""A value computed only to be moved is computed where it is wanted."""

from __future__ import annotations

from sonde.codegen.intermediate import ir
from sonde.codegen.intermediate.ir import Block, BpfFunction, Reg

_MOVABLE = (ir.Move, ir.Alu, ir.Extend, ir.Swap, ir.Load, ir.Call, ir.CallLocal, ir.MapValue, ir.Address)


def coalesce(function: BpfFunction) -> None:
    """Join each computation with a move right behind it that is the only reader of its register."""
    reads: dict[Reg, int] = {}
    writes: dict[Reg, int] = {}
    for block in function.blocks:
        for instruction, _ in block.code:
            for reg in ir.used(instruction):
                reads[reg] = reads.get(reg, 0) + 1
            target = ir.defined(instruction)
            if target is not None:
                writes[target] = writes.get(target, 0) + 1
    only_moved = {reg for reg, count in reads.items() if count == 1 and writes.get(reg) == 1}
    for block in function.blocks:
        _join(block, only_moved)


def _join(block: Block, only_moved: set[Reg]) -> None:
    joined: list[tuple[ir.Instruction, int]] = []
    for instruction, position in block.code:
        if joined and isinstance(instruction, ir.Move) and instruction.src in only_moved:
            before = joined[-1][0]
            if isinstance(before, _MOVABLE) and before.dst == instruction.src and not _overwrites(before, instruction):
                joined[-1] = before._replace(dst=instruction.dst), joined[-1][1]
                continue
        joined.append((instruction, position))
    block.code = joined


def _overwrites(before: ir.Instruction, move: ir.Move) -> bool:
    """Whether the machine's two-operand form would destroy the right operand before it is read."""
    return isinstance(before, ir.Alu) and before.right == move.dst
