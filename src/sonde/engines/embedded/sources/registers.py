"""Which programs look at registers that the record of a stop does not tell.

A record has a system call's arguments, the instruction and the stack pointer. A program that loads another member of
the struct pt_regs that task_pt_regs returned needs the thread to be held and all its registers to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.arch import call_registers, registers
from sonde.bpf import instructions as i
from sonde.bpf.helpers import NUMBERS
from sonde.bpf.instructions import Instruction, decode
from sonde.model.spec import ProgramSpec
from sonde.runtime.kernel_types import layout

_PT_REGS = i.JMP | i.CALL
FRAME = 10
_SLOTS = 512

State = frozenset[int]
"""What may hold the pointer: registers by number, stack slots by their offset from the frame pointer, below 0."""


_STATE = layout("struct task_struct").offsets["__state"]


def needs_all_registers(program: ProgramSpec) -> bool:
    """Whether the program may load a register that records do not tell: an answer on the safe side."""
    return _loads(program, lambda offset: offset not in call_registers.TOLD)


def needs_stack_pointer(program: ProgramSpec) -> bool:
    """Whether it may load the stack pointer, or what is not the beginning of a register that records tell."""
    return _loads(program, lambda offset: offset == registers.STACK_POINTER or offset not in call_registers.TOLD)


def samples_registers(program: ProgramSpec) -> bool:
    """Whether an overflow's handler may look at registers: those of its context, or by task_pt_regs."""
    code = decode(program.code)
    if any(map(_is_call, code)):
        return True
    return _loads_from(code, [(0, frozenset((1,)))], lambda offset: offset < registers.SIZE)


def may_load_state(program: ProgramSpec) -> bool:
    """Whether it may load the state of a task: of the current one, or of the first that it is given. What is at the
    beginning of anything is taken for such a task."""
    code = decode(program.code)
    current = NUMBERS["get_current_task_btf"], NUMBERS["get_current_task"]
    starts = [
        (n + 1, frozenset((0,))) for n, x in enumerate(code)
        if x.opcode == i.JMP | i.CALL and x.src == i.CALL_HELPER and x.imm in current
    ]  # fmt: skip
    given = [
        (n + 1, frozenset((x.dst,))) for n, x in enumerate(code)
        if x.opcode == i.LDX | i.MEM | i.DW and not x.offset and x.src != FRAME
    ]  # fmt: skip
    return _loads_from(code, starts + given, lambda offset: offset == _STATE)


def _loads(program: ProgramSpec, is_meant: Callable[[int], bool]) -> bool:
    code = decode(program.code)
    return _loads_from(code, [(n + 1, frozenset((0,))) for n, x in enumerate(code) if _is_call(x)], is_meant)


def _loads_from(code: Sequence[Instruction], pending: list[tuple[int, State]], is_meant: Callable[[int], bool]) -> bool:
    """Whether the pointer may be loaded from, which the states at these slots have."""
    seen: dict[int, State] = {}
    while pending:
        slot, state = pending.pop()
        known = seen.get(slot)
        if known is not None:
            state |= known
            if state == known:
                continue
        if slot >= len(code):
            continue
        seen[slot] = state
        x = code[slot]
        if x.opcode & 7 == i.LDX and x.src in state and is_meant(x.offset):
            return True
        behind = after(x, state, _is_call)
        if behind:
            pending += [(place, behind) for place in following(x, slot)]
    return False


def _is_call(x: Instruction) -> bool:
    return x.opcode == _PT_REGS and x.src == i.CALL_HELPER and x.imm == NUMBERS["task_pt_regs"]


def after(x: Instruction, state: State, gives: Callable[[Instruction], bool]) -> State:
    """What may hold the pointer behind the instruction; `gives` says which calls return it."""
    kind = x.opcode & 7
    if kind in (i.ALU64, i.ALU):
        moves = x.opcode & 0xF0 == i.MOV and x.opcode & i.X and x.src in state
        return state | {x.dst} if moves else state - {x.dst} if x.opcode & 0xF0 == i.MOV else state
    if kind == i.LDX:
        reloads = x.src == FRAME and x.offset in state
        return state | {x.dst} if reloads else state - {x.dst}
    if kind == i.LD:
        return state - {x.dst}
    if kind == i.STX and x.dst == FRAME:
        return state | {x.offset} if x.src in state else state - {x.offset}
    if x.opcode == i.JMP | i.CALL:
        return (state - frozenset(range(6))) | (frozenset((0,)) if gives(x) else frozenset())
    return state


def following(x: Instruction, slot: int) -> tuple[int, ...]:
    """The slots of the instructions that may come behind it."""
    if x.opcode & 7 not in (i.JMP, i.JMP32) or x.opcode == i.JMP | i.CALL:
        return (slot + 2 if x.opcode == i.LD_IMM64 else slot + 1,)
    operation = x.opcode & 0xF0
    if operation == i.EXIT & 0xF0:
        return ()
    if operation == i.JA:
        return (slot + 1 + (x.offset if x.opcode & 7 == i.JMP else x.imm),)
    return (slot + 1, slot + 1 + x.offset)
