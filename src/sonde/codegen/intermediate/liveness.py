"""Which registers are still needed where: live sets of blocks, and the removal of code nobody needs."""

from __future__ import annotations

from sonde.codegen.intermediate import ir
from sonde.codegen.intermediate.ir import BpfFunction, Reg
from sonde.typed import TypeAlias

Touched: TypeAlias = dict[int, list[tuple[Reg | None, list[Reg]]]]
"""Block number -> the register that each instruction sets, and those that it reads."""


def touched(function: BpfFunction) -> Touched:
    return {b.number: [(ir.defined(each), ir.used(each)) for each, _ in b.code] for b in function.blocks}


def live_out(function: BpfFunction, registers: Touched) -> dict[int, set[Reg]]:
    """Block number -> the registers that a later block reads."""
    return _live(function, registers)[1]


def _live(function: BpfFunction, registers: Touched) -> tuple[dict[int, set[Reg]], dict[int, set[Reg]]]:
    """Block number -> the registers that are live at its beginning, and at its end."""
    summaries = {number: _summary(each) for number, each in registers.items()}
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
            read, written = summaries[number]
            new = read | (live - written)
            out[number] = live
            if new != into[number]:
                into[number] = new
                waiting.update(before[number])
    return into, out


def _summary(block: list[tuple[Reg | None, list[Reg]]]) -> tuple[set[Reg], set[Reg]]:
    read: set[Reg] = set()
    written: set[Reg] = set()
    for target, used in block:
        for reg in used:
            if reg not in written:
                read.add(reg)
        if target is not None:
            written.add(target)
    return read, written


def remove_dead_code(function: BpfFunction) -> None:
    """Drop instructions without effect whose result is not read, until none is left."""
    registers = touched(function)
    while _sweep(function, registers):
        pass


def _sweep(function: BpfFunction, registers: Touched) -> bool:
    """Whether something that another block computes is not needed any more."""
    is_less = False
    into, out = _live(function, registers)
    for block in function.blocks:
        live = set(out[block.number])
        kept, theirs = [], []
        for pair, touching in zip(reversed(block.code), reversed(registers[block.number]), strict=True):
            target, used = touching
            if target is not None:
                if target in live:
                    live.discard(target)
                elif ir.is_pure(pair[0]):
                    continue
                else:
                    pair, touching = (_without_result(pair[0]), pair[1]), (None, used)
            live.update(used)
            kept.append(pair)
            theirs.append(touching)
        block.code, registers[block.number] = kept[::-1], theirs[::-1]
        is_less = is_less or len(live) < len(into[block.number])
    return is_less


def _without_result(instruction: ir.Instruction) -> ir.Instruction:
    """The same for its effect alone: some helpers return nothing that could be copied."""
    if isinstance(instruction, (ir.Call, ir.CallLocal)):
        return instruction._replace(dst=None)
    if isinstance(instruction, ir.Atomic) and instruction.op != "cmpxchg":
        return instruction._replace(fetched=None)
    return instruction
