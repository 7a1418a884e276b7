"""The control-flow graph of a function: predecessors, dominators, and its tidying up."""

from __future__ import annotations

from sonde.codegen.intermediate import ir
from sonde.codegen.intermediate.ir import Block, BpfFunction


def reachable(function: BpfFunction) -> list[Block]:
    """The blocks that can be reached, in reverse postorder."""
    blocks = {b.number: b for b in function.blocks}
    order: list[Block] = []
    entry = function.blocks[0]
    seen = {entry.number}
    stack = [(entry, iter(entry.successors()))]
    while stack:
        block, successors = stack[-1]
        for number in successors:
            if number not in seen:
                seen.add(number)
                stack.append((blocks[number], iter(blocks[number].successors())))
                break
        else:
            order.append(block)
            stack.pop()
    return order[::-1]


def predecessors(blocks: list[Block]) -> dict[int, list[int]]:
    """Block number -> the numbers of the blocks that go there."""
    result: dict[int, list[int]] = {b.number: [] for b in blocks}
    for block in blocks:
        for successor in block.successors():
            if block.number not in result[successor]:
                result[successor].append(block.number)
    return result


def dominators(order: list[Block]) -> dict[int, int]:
    """Block number -> immediate dominator's number, the entry its own (Cooper, Harvey, Kennedy 2001)."""
    rank = {block.number: i for i, block in enumerate(order)}
    before = predecessors(order)
    entry = order[0].number
    idom = {entry: entry}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [p for p in before[block.number] if p in idom]
            new = known[0]
            for other in known[1:]:
                new = _intersect(new, other, idom, rank)
            if idom.get(block.number) != new:
                idom[block.number] = new
                changed = True
    return idom


def _intersect(a: int, b: int, idom: dict[int, int], rank: dict[int, int]) -> int:
    while a != b:
        while rank[a] > rank[b]:
            a = idom[a]
        while rank[b] > rank[a]:
            b = idom[b]
    return a


def tidy(function: BpfFunction) -> None:
    """Skip blocks that only jump on, join a block to its only predecessor, drop what cannot be reached."""
    alias = {
        b.number: b.code[0][0].target
        for b in function.blocks
        if len(b.code) == 1 and isinstance(b.code[0][0], ir.Jump) and b.code[0][0].target != b.number
    }
    for block in function.blocks:
        last, position = block.code[-1]
        aimed = _retarget(last, alias)
        if aimed is not last:
            block.code[-1] = (aimed, position)
    live = {b.number for b in reachable(function)}
    function.blocks = [b for b in function.blocks if b.number in live]
    _join(function)


def _final(number: int, alias: dict[int, int]) -> int:
    seen = set()
    while number in alias and number not in seen:
        seen.add(number)
        number = alias[number]
    return number


def _retarget(instruction: ir.Instruction, alias: dict[int, int]) -> ir.Instruction:
    if isinstance(instruction, ir.Jump) and instruction.target in alias:
        return ir.Jump(_final(instruction.target, alias))
    if isinstance(instruction, ir.Branch):
        then, otherwise = instruction.then, instruction.otherwise
        if then in alias or otherwise in alias or then == otherwise:
            then, otherwise = _final(then, alias), _final(otherwise, alias)
            return ir.Jump(then) if then == otherwise else instruction._replace(then=then, otherwise=otherwise)
    return instruction


def _join(function: BpfFunction) -> None:
    before = predecessors(function.blocks)
    blocks = {b.number: b for b in function.blocks}
    gone: set[int] = set()
    for block in function.blocks:
        if block.number in gone:
            continue
        while isinstance(last := block.code[-1][0], ir.Jump):
            target = blocks[last.target]
            if before[target.number] != [block.number] or target is function.blocks[0] or target is block:
                break
            block.code[-1:] = target.code
            gone.add(target.number)
            for successor in target.successors():
                before[successor] = [block.number if p == target.number else p for p in before[successor]]
    function.blocks = [b for b in function.blocks if b.number not in gone]
