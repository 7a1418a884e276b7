"""Value numbering over the dominator tree: common subexpressions, constants, copies and settled branches.

A computation that a dominating block has already made is replaced by its result; a branch whose outcome a dominating
branch decided becomes a jump. Only registers that are set once take part, so their values hold wherever they are seen.
"""

from __future__ import annotations

from collections.abc import Hashable

from sonde.codegen.intermediate import ir
from sonde.codegen.intermediate.arithmetic import compare, evaluate, extend, is_immediate
from sonde.codegen.intermediate.builder import inverse
from sonde.codegen.intermediate.flow import dominators, predecessors, reachable
from sonde.codegen.intermediate.ir import BpfFunction, Imm, Operand, Reg

_COMMUTES = ("add", "mul", "and", "or", "xor")
_IMMEDIATE_OK: dict[type, tuple[str, ...]] = {
    ir.Move: ("src",),
    ir.Alu: ("right",),
    ir.Store: ("value",),
    ir.Branch: ("right",),
    ir.Return: ("value",),
}


class _Scope:
    """What is known in the block that is looked at: what its dominators and it have computed, and what holds there.

    Blocks are entered and left as the dominator tree nests them, so what is known is one table however deep that is.
    """

    def __init__(self) -> None:
        self.values: dict[Hashable, Reg] = {}
        self.facts: set[Hashable] = set()
        self._added: list[tuple[list[Hashable], list[Hashable]]] = []

    def enter(self) -> None:
        self._added.append(([], []))

    def leave(self) -> None:
        """Forget what was learnt since the last `enter`."""
        values, facts = self._added.pop()
        for key in values:
            del self.values[key]
        self.facts.difference_update(facts)

    def learn(self, key: Hashable, value: Reg) -> None:
        """The result of a computation that was not known."""
        self.values[key] = value
        self._added[-1][0].append(key)

    def assume(self, fact: Hashable) -> None:
        if fact not in self.facts:
            self.facts.add(fact)
            self._added[-1][1].append(fact)


def number_values(function: BpfFunction) -> None:
    """Rewrite the function in place; what becomes unused is left for dead-code removal."""
    order = reachable(function)
    before = predecessors(order)
    pass_, scope = _Numbering(function), _Scope()
    dominated = _dominated(order)
    ways: list[ir.Block | None] = [order[0]]
    while ways:
        block = ways.pop()
        if block is None:
            scope.leave()
            continue
        scope.enter()
        if len(before[block.number]) == 1:
            pass_.assume(scope, before[block.number][0], block.number)
        block.code = [(pass_.rewrite(i, scope), position) for i, position in block.code]
        pass_.ends[block.number] = block.code[-1][0]
        ways += [None, *reversed(dominated[block.number])]
    function.blocks = [b for b in function.blocks if b.number in dominated]


def _dominated(order: list[ir.Block]) -> dict[int, list[ir.Block]]:
    """Block number -> the blocks that it dominates immediately."""
    idom = dominators(order)
    result: dict[int, list[ir.Block]] = {block.number: [] for block in order}
    for block in order[1:]:
        result[idom[block.number]].append(block)
    return result


class _Numbering:
    def __init__(self, function: BpfFunction) -> None:
        self.single = _set_once(function)
        self.known: dict[Reg, Operand] = {}
        self.ends: dict[int, ir.Instruction] = {}

    def assume(self, scope: _Scope, source: int, target: int) -> None:
        """In a block with one predecessor, the branch there has been decided."""
        last = self.ends.get(source)
        if not isinstance(last, ir.Branch) or last.then == last.otherwise or not self._stable(last):
            return
        if last.then == target:
            scope.assume((last.op, last.left, last.right, last.bits))
        elif last.op != "set":
            scope.assume((inverse(last.op), last.left, last.right, last.bits))

    def _stable(self, instruction: ir.Instruction) -> bool:
        return all(r in self.single for r in ir.used(instruction))

    def rewrite(self, instruction: ir.Instruction, scope: _Scope) -> ir.Instruction:
        instruction = self._substitute(instruction)
        if isinstance(instruction, ir.Branch):
            return self._decide(instruction, scope)
        instruction = _fold(instruction)
        target = ir.defined(instruction)
        if target is None or target not in self.single:
            return instruction
        if isinstance(instruction, ir.Move):
            if isinstance(instruction.src, Imm) or instruction.src in self.single:
                self.known[target] = instruction.src
            return instruction
        key = _key(instruction)
        if key is None or not self._stable(instruction):
            return instruction
        earlier = scope.values.get(key)
        if earlier is None:
            scope.learn(key, target)
            return instruction
        self.known[target] = earlier
        return ir.Move(target, earlier)

    def _substitute(self, instruction: ir.Instruction) -> ir.Instruction:
        known = self.known
        if not any(reg in known for reg in ir.used(instruction)):
            return instruction
        if isinstance(instruction, (ir.Call, ir.CallLocal)):
            arguments = tuple(known.get(a, a) if isinstance(a, Reg) else a for a in instruction.arguments)
            return instruction._replace(arguments=arguments)
        kind = type(instruction)
        changes: dict[str, Operand] = {}
        for name in ir.OPERANDS[kind]:
            value = getattr(instruction, name)
            new = known.get(value) if isinstance(value, Reg) else None
            if isinstance(new, Reg) or (isinstance(new, Imm) and _takes(instruction, kind, name, new)):
                changes[name] = new
        if isinstance(instruction, ir.Alu) and isinstance(new := self.known.get(instruction.left), Imm):
            right = changes.get("right", instruction.right)
            if isinstance(right, Imm):
                return ir.Move(instruction.dst, Imm(evaluate(instruction.op, new.value, right.value, instruction.bits)))
            if instruction.op in _COMMUTES and ir.fits(new.value):
                return instruction._replace(left=right, right=new)
        if isinstance(instruction, ir.Extend) and isinstance(new := self.known.get(instruction.src), Imm):
            return ir.Move(instruction.dst, Imm(extend(new.value, instruction.size, instruction.signed)))
        return instruction._replace(**changes) if changes else instruction  # type: ignore[arg-type]

    def _decide(self, branch: ir.Branch, scope: _Scope) -> ir.Instruction:
        left = self.known.get(branch.left)
        if isinstance(left, Imm) and isinstance(branch.right, Imm):
            return ir.Jump(
                branch.then if compare(branch.op, left.value, branch.right.value, branch.bits) else branch.otherwise
            )
        if not self._stable(branch):
            return branch
        fact = (branch.left, branch.right, branch.bits)
        if (branch.op, *fact) in scope.facts:
            return ir.Jump(branch.then)
        if branch.op != "set" and (inverse(branch.op), *fact) in scope.facts:
            return ir.Jump(branch.otherwise)
        return branch


def _takes(instruction: ir.Instruction, kind: type, name: str, value: Imm) -> bool:
    if name not in _IMMEDIATE_OK.get(kind, ()):
        return False
    if isinstance(instruction, ir.Alu):
        return is_immediate(instruction.op, value.value, instruction.bits)
    narrow = isinstance(instruction, ir.Store) and instruction.size < 8
    return kind is ir.Move or narrow or ir.fits(value.value)


def _set_once(function: BpfFunction) -> set[Reg]:
    counts: dict[Reg, int] = dict.fromkeys(function.parameters, 1)
    for block in function.blocks:
        for instruction, _ in block.code:
            target = ir.defined(instruction)
            if target is not None:
                counts[target] = counts.get(target, 0) + 1
    return {reg for reg, count in counts.items() if count == 1}


def _fold(instruction: ir.Instruction) -> ir.Instruction:
    if isinstance(instruction, ir.Alu) and isinstance(instruction.right, Imm) and instruction.bits == 64:
        value = instruction.right.value
        if value == 0 and instruction.op in ("add", "sub", "or", "xor", "lsh", "rsh", "arsh"):
            return ir.Move(instruction.dst, instruction.left)
        if value == 0 and instruction.op in ("mul", "and"):
            return ir.Move(instruction.dst, Imm(0))
    return instruction


def _key(instruction: ir.Instruction) -> Hashable | None:
    if isinstance(instruction, ir.Alu):
        left, right = instruction.left, instruction.right
        if instruction.op in _COMMUTES and isinstance(right, Reg) and right.number < left.number:
            left, right = right, left
        return ("alu", instruction.op, left, right, instruction.bits)
    if isinstance(instruction, (ir.Call, ir.CallLocal)):
        return (type(instruction), *instruction[1:]) if instruction.pure else None
    if isinstance(instruction, ir.Load):
        return ("load", *instruction[1:]) if instruction.invariant and isinstance(instruction.base, Reg) else None
    if isinstance(instruction, (ir.Extend, ir.Swap, ir.MapValue, ir.Address, ir.Stamped)):
        return (type(instruction), *instruction[1:])
    return None
