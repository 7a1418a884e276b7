"""The control flow of one function: basic blocks, dominators, loops.

Dominators as in Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001): blocks are numbered in reverse
postorder, and a block's immediate dominator is found by walking two numbers towards each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.runtime.machine import structure
from sonde.typed import NamedTuple

_SMALL_END = 3
"""A block of at most so many instructions that leaves the function is repeated wherever it is jumped to."""


class BasicBlock(NamedTuple):
    """The slots of one basic block, and where it leads: nowhere, to one block, or, at a condition, to the block of the
    jump taken and to that of the jump not taken. Blocks are called by their place in reverse postorder."""

    slots: tuple[int, ...]
    successors: tuple[int, ...]


class Graph(NamedTuple):
    """`blocks` in reverse postorder; `dominators` the immediate dominator of each; `loops` the blocks of each loop by
    its header; `is_reducible` tells whether every loop is entered through its header alone."""

    blocks: tuple[BasicBlock, ...]
    predecessors: tuple[tuple[int, ...], ...]
    dominators: tuple[int, ...]
    loops: dict[int, frozenset[int]]
    is_reducible: bool


def build(code: Sequence[Instruction], begin: int, end: int) -> Graph:
    """The graph of the function in the slots from `begin` to before `end`."""
    blocks = _with_own_ends(_blocks(code, begin, end))
    order = _reverse_postorder(blocks, begin)
    number = {name: place for place, name in enumerate(order)}
    numbered = tuple(
        BasicBlock(blocks[name].slots, tuple(number[after] for after in blocks[name].successors)) for name in order
    )
    predecessors: list[list[int]] = [[] for _ in numbered]
    for place, block in enumerate(numbered):
        for after in block.successors:
            predecessors[after].append(place)
    before = tuple(map(tuple, predecessors))
    dominators = _dominators(before)
    loops, is_reducible = _loops(numbered, before, dominators)
    return Graph(numbered, before, dominators, loops, is_reducible)


def _blocks(code: Sequence[Instruction], begin: int, end: int) -> dict[int, BasicBlock]:
    """Blocks by their first slot, whether they are reached or not."""
    seconds = structure.second_slots(code)
    slots = [slot for slot in range(begin, end) if slot not in seconds]
    jumps = {slot: _jump_targets(slot, code[slot]) for slot in slots if _ends_block(code[slot])}
    begins = {begin} | {target for targets in jumps.values() for target in targets}
    begins |= {slot + 1 for slot in jumps if slot + 1 < end}
    found: dict[int, BasicBlock] = {}
    current: list[int] = []
    for position, slot in enumerate(slots):
        current.append(slot)
        following = slots[position + 1] if position + 1 < len(slots) else end
        if slot in jumps or following in begins or following == end:
            found[current[0]] = BasicBlock(tuple(current), jumps.get(slot, (following,)))
            current = []
    return found


def _ends_block(x: Instruction) -> bool:
    return x.opcode & 7 in (i.JMP, i.JMP32) and x.opcode & 0xF7 != i.JMP | i.CALL


def _jump_targets(slot: int, x: Instruction) -> tuple[int, ...]:
    targets = structure.targets(slot, x)
    return (*targets, slot + 1) if structure.falls_through(x) else targets


def _with_own_ends(blocks: dict[int, BasicBlock]) -> dict[int, BasicBlock]:
    """Every jump to a small block that ends the function gets a copy of it, so that it need not be gone to."""
    ends = {name for name, block in blocks.items() if not block.successors and len(block.slots) <= _SMALL_END}
    made = dict(blocks)
    copies = -1
    for name, block in blocks.items():
        successors = list(block.successors)
        for place, after in enumerate(successors):
            if after in ends:
                made[copies] = blocks[after]
                successors[place] = copies
                copies -= 1
        made[name] = BasicBlock(block.slots, tuple(successors))
    return made


def _reverse_postorder(blocks: dict[int, BasicBlock], root: int) -> list[int]:
    order: list[int] = []
    seen = {root}
    stack = [(root, iter(blocks[root].successors))]
    while stack:
        name, successors = stack[-1]
        following = next((after for after in successors if after not in seen), None)
        if following is None:
            order.append(name)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(blocks[following].successors)))
    return order[::-1]


def _dominators(predecessors: Sequence[Sequence[int]]) -> tuple[int, ...]:
    found = [0] + [-1] * (len(predecessors) - 1)
    changed = True
    while changed:
        changed = False
        for place in range(1, len(predecessors)):
            known = [before for before in predecessors[place] if found[before] >= 0]
            meeting = known[0]
            for other in known[1:]:
                while meeting != other:
                    if meeting > other:
                        meeting = found[meeting]
                    else:
                        other = found[other]
            if found[place] != meeting:
                found[place] = meeting
                changed = True
    return tuple(found)


def _loops(
    blocks: Sequence[BasicBlock], predecessors: Sequence[Sequence[int]], dominators: Sequence[int]
) -> tuple[dict[int, frozenset[int]], bool]:
    """The natural loops by header, those of one header together."""
    bodies: dict[int, set[int]] = {}
    for place, block in enumerate(blocks):
        for header in block.successors:
            if header > place:
                continue
            if not _dominates(header, place, dominators):
                return {}, False
            body = bodies.setdefault(header, {header})
            reached = [place]
            while reached:
                inside = reached.pop()
                if inside not in body:
                    body.add(inside)
                    reached.extend(predecessors[inside])
    return {header: frozenset(body) for header, body in bodies.items()}, True


def _dominates(one: int, other: int, dominators: Sequence[int]) -> bool:
    while other > one:
        other = dominators[other]
    return other == one
