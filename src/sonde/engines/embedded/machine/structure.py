"""Whether code is made of instructions that exist and jumps that lead to one, asked once before anything runs.

What is checked here needs no knowledge of values; the executions rely on it. Which instructions exist and which of
their fields have to be zero: Documentation/bpf/standardization/instruction-set.rst.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction

_ARITHMETIC = frozenset(range(0, i.END, 0x10))
_CONDITIONS = frozenset({
    i.JEQ, i.JGT, i.JGE, i.JSET, i.JNE, i.JSGT, i.JSGE, i.JLT, i.JLE, i.JSLT, i.JSLE,
})  # fmt: skip
_ATOMIC_WITH_FETCH = frozenset({i.ADD, i.OR, i.AND, i.XOR})
_ATOMICS = _ATOMIC_WITH_FETCH | {operation | i.FETCH for operation in _ATOMIC_WITH_FETCH} | {i.XCHG, i.CMPXCHG}


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
        reason = _reason(x, code[slot + 1] if slot + 1 < len(code) else None)
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


def _reason(x: Instruction, following: Instruction | None) -> str:
    """Why this is no instruction; "" if it is one."""
    if x.dst > i.R10 or x.src > i.R10:
        return "there is no such register"
    kind = x.opcode & 7
    if kind == i.LD:
        fault = _load_immediate(x, following)
    elif kind in (i.LDX, i.ST, i.STX):
        fault = _access(x, kind)
    elif kind in (i.ALU, i.ALU64):
        fault = _arithmetic(x, kind)
    else:
        fault = _jump(x, kind)
    if not fault and x.dst == i.R10 and (kind in (i.LDX, i.ALU, i.ALU64) or x.opcode == i.LD_IMM64):
        return "the frame pointer cannot be written"
    return fault or ("the frame pointer cannot be written" if _fetches_into_frame_pointer(x) else "")


def _fetches_into_frame_pointer(x: Instruction) -> bool:
    if x.opcode & 0xE7 != i.STX | i.ATOMIC:
        return False
    if x.imm == i.LOAD_ACQUIRE:
        return x.dst == i.R10
    return x.src == i.R10 and bool(x.imm & i.FETCH) and x.imm != i.CMPXCHG


def _load_immediate(x: Instruction, following: Instruction | None) -> str:
    mode = x.opcode & 0xE0
    if x.opcode == i.LD_IMM64:
        if following is None or following[:4] != (0, 0, 0, 0):
            return "the second half of a 64-bit immediate is missing"
        if x.offset or x.src > i.PSEUDO_MAP_INDEX_VALUE:
            return "a field that must be zero is not"
        return ""
    if mode not in (i.ABS, i.IND) or x.opcode & 0x18 == i.DW:
        return f"there is no opcode {x.opcode:#x}"
    return "a field that must be zero is not" if x.dst or x.offset or (mode == i.ABS and x.src) else ""


def _access(x: Instruction, kind: int) -> str:
    mode, size = x.opcode & 0xE0, x.opcode & 0x18
    if mode == i.ATOMIC and kind == i.STX:
        return _atomic(x)
    if mode != i.MEM and not (mode == i.MEMSX and kind == i.LDX and size != i.DW):
        return f"there is no opcode {x.opcode:#x}"
    unused = x.src if kind == i.ST else x.imm
    return "a field that must be zero is not" if unused else ""


def _atomic(x: Instruction) -> str:
    if x.imm in (i.LOAD_ACQUIRE, i.STORE_RELEASE):
        return ""
    if x.imm not in _ATOMICS or x.opcode & 0x18 not in (i.W, i.DW):
        return f"there is no atomic operation {x.imm:#x} of that size"
    return ""


def _arithmetic(x: Instruction, kind: int) -> str:
    operation = x.opcode & 0xF0
    if operation == i.END:
        if (kind == i.ALU64 and x.opcode & i.X) or x.imm not in (16, 32, 64):
            return "there is no such byte swap"
        return "a field that must be zero is not" if x.src or x.offset else ""
    if operation not in _ARITHMETIC:
        return f"there is no opcode {x.opcode:#x}"
    if operation == i.NEG:
        return "a field that must be zero is not" if x.opcode & i.X or x.src or x.offset or x.imm else ""
    if x.imm if x.opcode & i.X else x.src:
        return "a field that must be zero is not"
    return "" if x.offset in _offsets(x, kind, operation) else f"{x.offset} has no meaning as an offset here"


def _offsets(x: Instruction, kind: int, operation: int) -> tuple[int, ...]:
    """What the offset of an arithmetic instruction may be."""
    if operation in (i.DIV, i.MOD):
        return (0, 1)
    if operation == i.MOV and x.opcode & i.X:
        return (0, 8, 16, 32) if kind == i.ALU64 else (0, 8, 16)
    return (0,)


def _jump(x: Instruction, kind: int) -> str:
    operation, by_register = x.opcode & 0xF0, bool(x.opcode & i.X)
    if operation in _CONDITIONS:
        unused = x.imm if by_register else x.src
    elif operation == i.JA and not by_register:
        unused = x.dst | x.src | (x.imm if kind == i.JMP else x.offset)
    elif kind == i.JMP32:
        return f"there is no opcode {x.opcode:#x}"
    elif operation == i.CALL:
        return _call(x, by_register)
    elif operation == i.EXIT and not by_register:
        unused = x.dst | x.src | x.offset | x.imm
    elif operation == i.JCOND and not by_register:
        unused = x.dst | x.src | x.imm
    else:
        return f"there is no opcode {x.opcode:#x}"
    return "a field that must be zero is not" if unused else ""


def _call(x: Instruction, by_register: bool) -> str:
    if by_register:
        return "a field that must be zero is not" if x.src or x.offset or x.imm else ""
    if x.src > i.CALL_KFUNC:
        return "there is no such kind of call"
    unused = x.dst | (x.offset if x.src != i.CALL_KFUNC else 0)
    return "a field that must be zero is not" if unused else ""
