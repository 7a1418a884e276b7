"""Functions of a program as blocks, and their loops, one in another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.typed import NamedTuple, TypeAlias

END = -1
"""Where control goes behind an exit, or out of the function."""

_DEEPEST = 8
"""Loops in one another that are looked into."""

_FAR = 1 << 50


class WorkLoop(NamedTuple):
    """Blocks of which each leads to each other. `header` is where it is entered, END if there are several such places;
    `units` are the blocks and loops that it consists of, each behind those that lead to it, but for the way back to the
    header; `shortest` is the number of instructions of the shortest way round."""

    header: int
    blocks: frozenset[int]
    units: tuple[WorkUnit, ...]
    shortest: int


WorkUnit: TypeAlias = "int | WorkLoop"


class WorkFunction(NamedTuple):
    """`blocks` are the ends of the blocks, by the instructions at which they begin."""

    begin: int
    blocks: Mapping[int, int]
    following: Mapping[int, tuple[int, ...]]
    units: tuple[WorkUnit, ...]


def second_slots(code: Sequence[Instruction]) -> set[int]:
    """The second slots of 64-bit immediates."""
    found: set[int] = set()
    for at, x in enumerate(code):
        if x.opcode == i.LD_IMM64 and at not in found:
            found.add(at + 1)
    return found


def is_jump(x: Instruction) -> bool:
    return x.opcode & 7 in (i.JMP, i.JMP32) and x.opcode & 0xF0 not in (i.CALL, i.EXIT)


def target_of(at: int, x: Instruction) -> int:
    """Where a jump leads."""
    return at + 1 + (x.imm if x.opcode == i.JMP32 | i.JA else x.offset)


def named_functions(code: Sequence[Instruction]) -> list[int]:
    """Where functions begin, in their order."""
    seconds, found = second_slots(code), {0}
    for at, x in enumerate(code):
        is_address = x.opcode == i.LD_IMM64 and x.src == i.PSEUDO_FUNC
        is_call = x.opcode == i.JMP | i.CALL and x.src == i.CALL_LOCAL
        if at not in seconds and (is_address or is_call):
            found.add(at + 1 + x.imm)
    return sorted(each for each in found if 0 <= each < len(code))


def functions(code: Sequence[Instruction]) -> dict[int, WorkFunction]:
    """The functions by where they begin."""
    begins = named_functions(code)
    return {begin: _function(code, begin, end) for begin, end in pairwise([*begins, len(code)])}


def _function(code: Sequence[Instruction], begin: int, end: int) -> WorkFunction:
    seconds = second_slots(code[begin:end])
    leaders, ways = {begin}, {}
    for at in range(begin, end):
        x = code[at]
        if at - begin in seconds or (x.opcode != i.JMP | i.EXIT and not is_jump(x)):
            continue
        ways[at] = _ways(at, x, begin, end)
        leaders.update(way for way in (*ways[at], at + 1) if begin <= way < end)
    order = sorted(leaders)
    blocks = {first: after - 1 for first, after in pairwise([*order, end])}
    following = {
        first: ways.get(last, (last + 1,) if last + 1 < end else (END,)) for first, last in blocks.items()
    }  # fmt: skip
    reached = _reached(begin, following)
    return WorkFunction(begin, blocks, following, _units(reached, begin, END, following, blocks))


def _ways(at: int, x: Instruction, begin: int, end: int) -> tuple[int, ...]:
    """Where an instruction that ends a block leads: where the jump is taken, and where not."""
    if x.opcode == i.JMP | i.EXIT:
        return (END,)
    target = target_of(at, x)
    taken = target if begin <= target < end else END
    if x.opcode in (i.JMP | i.JA, i.JMP32 | i.JA):
        return (taken,)
    return taken, at + 1 if at + 1 < end else END


def _reached(begin: int, following: Mapping[int, tuple[int, ...]]) -> frozenset[int]:
    found, waiting = {begin}, [begin]
    while waiting:
        for way in following[waiting.pop()]:
            if way != END and way not in found:
                found.add(way)
                waiting.append(way)
    return frozenset(found)


def _units(
    nodes: frozenset[int], begin: int, header: int, following: Mapping[int, tuple[int, ...]],
    blocks: Mapping[int, int], depth: int = 0,
) -> tuple[WorkUnit, ...]:  # fmt: skip
    """The blocks, entered at `begin`, in components, each behind those that lead to it by other ways than those to
    `header`."""
    inner = {node: [way for way in following[node] if way in nodes and way != header] for node in nodes}
    before: dict[int, list[int]] = {node: [] for node in nodes}
    for node, ways in inner.items():
        for way in ways:
            before[way].append(node)
    made: list[WorkUnit] = []
    for component in reversed(_components(nodes, inner)):
        first = component[0]
        if len(component) == 1 and first not in inner[first]:
            made.append(first)
            continue
        loop = frozenset(component)
        entries = {node for node in loop if node == begin or not loop.issuperset(before[node])}
        entry = entries.pop() if len(entries) == 1 and depth < _DEEPEST else END
        units = _units(loop, entry, entry, following, blocks, depth + 1) if entry != END else ()
        made.append(WorkLoop(entry, loop, units, _shortest(loop, entry, inner, blocks)))
    return tuple(made)


def _components(nodes: frozenset[int], ways: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """Strongly connected components, each before those that lead to it (Tarjan 1972)."""
    index: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    waiting: set[int] = set()
    found: list[list[int]] = []
    for root in sorted(nodes):
        if root in index:
            continue
        path = [(root, iter(ways[root]))]
        index[root] = lowest[root] = len(index)
        stack.append(root)
        waiting.add(root)
        while path:
            node, rest = path[-1]
            for way in rest:
                if way not in index:
                    index[way] = lowest[way] = len(index)
                    stack.append(way)
                    waiting.add(way)
                    path.append((way, iter(ways[way])))
                    break
                if way in waiting:
                    lowest[node] = min(lowest[node], index[way])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[node])
                if lowest[node] == index[node]:
                    component = [stack.pop()]
                    while component[-1] != node:
                        component.append(stack.pop())
                    waiting.difference_update(component)
                    found.append(component)
    return found


def _shortest(loop: frozenset[int], header: int, ways: Mapping[int, Sequence[int]], blocks: Mapping[int, int]) -> int:
    """The instructions of the shortest way from the header back to it, at least; 1 without a header."""
    if header == END:
        return 1
    lengths = {header: 0}
    waiting, best = [header], _FAR
    while waiting:
        node = min(waiting, key=lengths.__getitem__)
        waiting.remove(node)
        length = lengths[node] + blocks[node] - node + 1
        for way in ways[node]:
            if way == header:
                best = min(best, length)
            elif way in loop and length < lengths.get(way, _FAR):
                lengths[way] = length
                waiting.append(way)
    # A 64-bit immediate has two slots and is one instruction.
    return max(1, best // 2)
