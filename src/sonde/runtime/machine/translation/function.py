"""One function of a program as a Python function."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.bpf import instructions as i
from sonde.runtime.machine.execution import MAXIMUM_LOOPS
from sonde.runtime.machine.faults import MAXIMUM_FRAMES
from sonde.runtime.machine.translation import stack_slots, structuring
from sonde.runtime.machine.translation.facts import Facts, join, refine
from sonde.runtime.machine.translation.graph import build
from sonde.runtime.machine.translation.liveness import Liveness, writes
from sonde.runtime.machine.translation.stack_slots import StackSlots
from sonde.runtime.machine.translation.straight import translate_block
from sonde.runtime.machine.translation.unit import Unit
from sonde.runtime.machine.translation.values import RangedExpression, constant, variable

_SPEND = ("fuel[0] -= 1", "if fuel[0] < 0: raise BudgetError")


class TranslatedFunction:
    """The function in the slots from `begin` to before `end`, with what its callers have to know of it."""

    def __init__(self, unit: Unit, begin: int, end: int) -> None:
        self.begin = begin
        self._unit = unit
        self._graph = build(unit.code, begin, end)
        self._liveness = Liveness(unit.code, self._graph, unit.call_reads)
        needed = max((register for register in self._liveness.live_in[0] if register < 6), default=0)
        self.parameters = tuple(range(1, needed + 1))

    def source(self, is_budgeted: bool) -> str:
        """The Python function, called f and the slot it begins at."""
        slots = sorted({slot for block in self._graph.blocks for slot in block.slots})
        stack = stack_slots.find(self._unit.code, slots)
        blocks = self._blocks(stack)
        spend = _SPEND if is_budgeted else ()
        body = [*spend, *self._prologue(stack, slots), *self._body(blocks, spend)]
        registers = 9 if not self.begin else 5
        parameters = [f"r{register}=0" for register in range(1, registers + 1)]
        if self._unit.counts_depth:
            parameters.append("depth=1")
            body.insert(0, f"if depth > {MAXIMUM_FRAMES}: raise DepthError")
        enclosed = ["try:", *_indented(body), "except Refused as error:", "    raise fault(error) from None"]
        if stack.has_frame:
            enclosed = [
                "frame = free.pop() if free else make_frame()", "stack, r10 = frame", "stack[:] = zeros", *enclosed,
                "finally:", "    free.append(frame)",
            ]  # fmt: skip
        return "\n".join([f"def f{self.begin}({', '.join(parameters)}):", *_indented(enclosed)])

    def _body(self, blocks: tuple[structuring.StraightBlock, ...], spend: tuple[str, ...]) -> list[str]:
        if not self._graph.is_reducible:
            return structuring.dispatched(self._graph, blocks, spend)
        try:
            return structuring.Structuring(self._graph, blocks, spend).lines()
        except structuring.TooDeepError:
            return structuring.dispatched(self._graph, blocks, spend)

    def _prologue(self, stack: StackSlots, slots: Sequence[int]) -> list[str]:
        lines = [f"{name} = 0" for name in stack.names]
        zero = self._liveness.live_in[0] - set(range(1, 10 if not self.begin else 6))
        lines += [f"r{register} = 0" for register in sorted(zero)]
        if any(self._unit.code[slot].opcode == i.JMP | i.JCOND for slot in slots):
            lines.append(f"loops = {MAXIMUM_LOOPS}")
        return lines

    def _blocks(self, stack: StackSlots) -> tuple[structuring.StraightBlock, ...]:
        """Each block, with what the blocks before it tell of the registers."""
        behind: list[list[Facts]] = []
        made: list[structuring.StraightBlock] = []
        for number, block in enumerate(self._graph.blocks):
            known, live_out = self._known(number, behind), self._liveness.live_out[number]
            straight = translate_block(self._unit, block.slots, known, live_out, stack)
            made.append(structuring.StraightBlock(tuple(straight.lines), straight.condition))
            facts = straight.facts()
            behind.append([self._refined(block.slots[-1], facts, place == 0) for place in range(len(block.successors))])
        return tuple(made)

    def _refined(self, slot: int, facts: dict[int, RangedExpression], is_taken: bool) -> Facts:
        """The facts on one of the ways that a jump goes."""
        bounds = refine(self._unit.code[slot], facts, is_taken)
        if bounds is None:
            return facts
        return {**facts, bounds.register: variable(f"r{bounds.register}", bounds.lo, bounds.hi)}

    def _known(self, number: int, behind: list[list[Facts]]) -> Facts:
        """What is known of the registers at the beginning of a block."""
        unknown = {register: variable(f"r{register}") for register in range(10)}
        ways = [
            behind[before][place]
            for before in sorted(set(self._graph.predecessors[number])) if before < number
            for place, after in enumerate(self._graph.blocks[before].successors) if after == number
        ]  # fmt: skip
        if not number:
            given = range(1, 10 if not self.begin else 6)
            ways.append({r: variable(f"r{r}") if r in given else constant(0) for r in range(10)})
        if not self._graph.is_reducible and number:
            return unknown
        changed = self._changed_in_loop(number)
        return {
            register: unknown[register] if register in changed else join(register, [way[register] for way in ways])
            for register in range(10)
        }

    def _changed_in_loop(self, header: int) -> set[int]:
        body = self._graph.loops.get(header, ())
        if not header and not self._graph.is_reducible and self._graph.predecessors[0]:
            return set(range(10))
        return {
            register for block in body for slot in self._graph.blocks[block].slots
            for register in writes(self._unit.code[slot])
        }  # fmt: skip


def _indented(lines: Sequence[str]) -> list[str]:
    return ["    " + line for line in lines]
