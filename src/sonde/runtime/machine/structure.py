"""Whether code is made of instructions that exist and jumps that lead to one, asked once before anything runs.

What is checked here needs no knowledge of values; the executions rely on it. `bpf/wellformed.py` knows the
instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.bpf.wellformed import wrong


class StructureError(Exception):
    """`slot` has no valid instruction, for `reason`."""

    def __init__(self, slot: int, reason: str) -> None:
        super().__init__(f"instruction {slot}: {reason}")
        self.slot = slot
        self.reason = reason


def check(code: Sequence[Instruction]) -> None:
    """Raises StructureError for the first slot that is not right."""
    if not code:
        raise StructureError(0, "a program has at least one")
    seconds = second_slots(code)
    for slot, x in enumerate(code):
        if slot in seconds:
            continue
        reason = wrong(x, code[slot + 1] if slot + 1 < len(code) else None)
        if x.opcode == i.LD_IMM64 and slot + 1 == len(code):
            reason = "the second half of a 64-bit immediate is missing"
        if reason:
            raise StructureError(slot, reason)
        for target in targets(slot, x):
            if not 0 <= target < len(code) or target in seconds:
                raise StructureError(slot, f"leads to {target}, where no instruction begins")
        if falls_through(x) and slot + (2 if x.opcode == i.LD_IMM64 else 1) >= len(code):
            raise StructureError(slot, "the program goes on behind its end")
    _check_functions(code, seconds)


def _check_functions(code: Sequence[Instruction], seconds: frozenset[int]) -> None:
    """No function jumps or goes on into another one."""
    begins = function_begins(code)
    if len(begins) == 1:
        return
    ends = [*begins[1:], len(code)]
    for begin, end in zip(begins, ends, strict=True):
        for slot in range(begin, end):
            x = code[slot]
            if slot in seconds or x.opcode == i.LD_IMM64 or x.opcode & 0xF7 == i.JMP | i.CALL:
                continue
            if any(not begin <= target < end for target in targets(slot, x)):
                raise StructureError(slot, "jumps into another function")
        last = end - 2 if end - 1 in seconds else end - 1
        if falls_through(code[last]):
            raise StructureError(last, "the function goes on into another one")


def function_begins(code: Sequence[Instruction], addressed: Iterable[int] = ()) -> list[int]:
    """The slots at which functions begin, in order: the program itself, those that are called, those whose address is
    taken; `addressed` names the last where the code is linked and does not tell."""
    found = {0, *addressed}
    seconds = second_slots(code)
    for slot, x in enumerate(code):
        if slot not in seconds and (x.opcode == i.LD_IMM64 or x.opcode == i.JMP | i.CALL):
            found.update(targets(slot, x))
    return sorted(found)


def second_slots(code: Sequence[Instruction]) -> frozenset[int]:
    """The slots that are the second half of an LD_IMM64."""
    found: set[int] = set()
    for slot, x in enumerate(code):
        if x.opcode == i.LD_IMM64 and slot not in found:
            found.add(slot + 1)
    return frozenset(found)


def targets(slot: int, x: Instruction) -> tuple[int, ...]:
    """Where the instruction at `slot` leads besides the next one: a jump's target, a local function it calls or whose
    address it loads."""
    kind = x.opcode & 7
    if x.opcode == i.LD_IMM64:
        return (slot + 1 + x.imm,) if x.src == i.PSEUDO_FUNC else ()
    if kind not in (i.JMP, i.JMP32):
        return ()
    operation = x.opcode & 0xF0
    if kind == i.JMP32 and operation == i.JA:
        return (slot + 1 + x.imm,)
    if operation == i.CALL:
        return (slot + 1 + x.imm,) if x.src == i.CALL_LOCAL and not x.opcode & i.X else ()
    return () if operation == i.EXIT else (slot + 1 + x.offset,)


def falls_through(x: Instruction) -> bool:
    """Whether the next instruction can follow this one."""
    if x.opcode & 7 not in (i.JMP, i.JMP32):
        return True
    return x.opcode & 0xF0 != i.JA and x.opcode != i.JMP | i.EXIT
