"""Which registers are still needed where: live sets of blocks, and the removal of code nobody needs."""

from __future__ import annotations

from sonde.codegen.intermediate import ir
from sonde.codegen.intermediate.ir import Block, BpfFunction, Reg


def live_out(function: BpfFunction) -> dict[int, set[Reg]]:
    """Block number -> the registers that a later block reads."""
    gen_kill = {b.number: _summary(b) for b in function.blocks}
    into: dict[int, set[Reg]] = {b.number: set() for b in function.blocks}
    out: dict[int, set[Reg]] = {}
    successors = {b.number: b.successors() for b in function.blocks}
    before: dict[int, list[int]] = {number: [] for number in into}
    for number, behind in successors.items():
        for each in behind:
            before[each].append(number)
    order = [b.number for b in reversed(function.blocks)]
    waiting = set(order)
    while waiting:
        for number in order:
            if number not in waiting:
                continue
            waiting.discard(number)
            live: set[Reg] = set().union(*[into[each] for each in successors[number]])
            read, written = gen_kill[number]
            new = read | (live - written)
            out[number] = live
            if new != into[number]:
                into[number] = new
                waiting.update(before[number])
    return out


def _summary(block: Block) -> tuple[set[Reg], set[Reg]]:
    read: set[Reg] = set()
    written: set[Reg] = set()
    for instruction, _ in block.code:
        for reg in ir.used(instruction):
            if reg not in written:
                read.add(reg)
        target = ir.defined(instruction)
        if target is not None:
            written.add(target)
    return read, written


def remove_dead_code(function: BpfFunction) -> None:
    """Drop instructions without effect whose result is not read, until none is left."""
    while _sweep(function):
        pass


def _sweep(function: BpfFunction) -> bool:
    removed = False
    out = live_out(function)
    for block in function.blocks:
        live = set(out[block.number])
        kept = []
        for instruction, position in reversed(block.code):
            target = ir.defined(instruction)
            if target is not None and target not in live and ir.is_pure(instruction):
                removed = True
                continue
            if target is not None and target not in live:
                instruction = _without_result(instruction)
            elif target is not None:
                live.discard(target)
            live.update(ir.used(instruction))
            kept.append((instruction, position))
        block.code = kept[::-1]
    return removed


def _without_result(instruction: ir.Instruction) -> ir.Instruction:
    """The same for its effect alone: some helpers return nothing that could be copied."""
    if isinstance(instruction, (ir.Call, ir.CallLocal)):
        return instruction._replace(dst=None)
    if isinstance(instruction, ir.Atomic) and instruction.op != "cmpxchg":
        return instruction._replace(fetched=None)
    return instruction
