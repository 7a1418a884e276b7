"""Which programs look at registers that the record of a stop does not tell.

Where a system call is entered a record has its arguments, the instruction and the stack pointer; where it returns only
the latter and its result; where a new thread begins the result alone, and at other events nothing. A program that loads
another member of the struct pt_regs that task_pt_regs returned needs the thread to be held and all its registers to be
read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from sonde.arch import call_registers, registers
from sonde.bpf import instructions as i
from sonde.bpf import probe_context, programs
from sonde.bpf.helpers import NUMBERS
from sonde.bpf.instructions import Instruction, decode
from sonde.model.probe import RawTracepoint
from sonde.model.spec import ProbeSpec, ProgramSpec
from sonde.runtime.kernel_types import layout

_CALL = i.JMP | i.CALL
FRAME = 10

_GIVEN = frozenset(range(1, 6))
"""The registers that a call takes."""

_READING_THIRD = frozenset(
    NUMBERS[name]
    for name in (
        "probe_read", "probe_read_str", "probe_read_kernel", "probe_read_kernel_str", "loop", "for_each_map_elem",
    )
)  # fmt: skip
"""Helpers that read where their third argument leads, or give it to a function of the program."""

State = frozenset[int]
"""What may hold the pointer: registers by number, stack slots by their offset from the frame pointer, below 0."""


_STATE = layout("struct task_struct").offsets["__state"]


def needs_more_registers(program: ProgramSpec, told: Set[int], fired: Sequence[ProbeSpec]) -> bool:
    """Whether the program, run where these probes fire, may load a register that is not `told`: an answer on the safe
    side."""
    steps = [step for each in program.variables for fetch in each.fetches for step in fetch.steps]
    if any(step.operation == "register" and step.operand not in told for step in steps):
        return True
    return _loads(program, lambda offset: offset not in told, fired)


def needs_stack_pointer(program: ProgramSpec) -> bool:
    """Whether it may load the stack pointer, or what is not the beginning of a register that records tell."""
    told = call_registers.TOLD_ENTERING - {registers.STACK_POINTER}
    return _loads(program, lambda offset: offset not in told, program.probes)


def samples_registers(program: ProgramSpec) -> bool:
    """Whether an overflow's handler, or a general program, may look at registers or what follows from them: in its
    context, or by task_pt_regs."""
    code = decode(program.code)
    if any(map(_is_call, code)):
        return True
    looked_at = probe_context.COOKIE if program.kind == programs.PROBE else registers.SIZE
    return _loads_from_context(code, lambda offset: offset < looked_at)


def may_load_stack(program: ProgramSpec) -> bool:
    """Whether a general program may load what its context has from the stack of a function that is entered: the
    arguments that are in no register, or how many there are. A callback may be given the context in memory."""
    code = decode(program.code)
    if any(x.opcode == i.LD_IMM64 and x.src == i.PSEUDO_FUNC for x in code):
        return True
    return _loads_from_context(code, lambda offset: offset in probe_context.ON_STACK)


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


def _loads(program: ProgramSpec, is_meant: Callable[[int], bool], fired: Sequence[ProbeSpec]) -> bool:
    code = decode(program.code)
    if program.kind == programs.PROBE:
        if _loads_from_context(code, lambda offset: offset < probe_context.ARGUMENTS and is_meant(offset)):
            return True
    elif any(map(_has_registers, fired)) and _loads_from_context(code, lambda offset: not offset):
        # The address of the registers, from which they are read in any way.
        return True
    starts = [(n + 1, frozenset((0,))) for n, x in enumerate(code) if _is_call(x)]
    return _loads_from(code, starts, is_meant, _are_lost)


def _has_registers(served: ProbeSpec) -> bool:
    """Whether the first word of the context is the address of registers."""
    return isinstance(served.probe.firing, RawTracepoint) and served.probe.firing.name in ("sys_enter", "sys_exit")


def _loads_from_context(code: Sequence[Instruction], is_meant: Callable[[int], bool]) -> bool:
    """Whether what is meant of the context may be loaded, also by a function that is given it."""
    return _loads_from(code, [(0, frozenset((1,)))], is_meant, _is_lost)


def _is_lost(x: Instruction, state: State) -> bool:
    """Whether a context is moved within, or given to a helper otherwise than as the context."""
    return bool(state & (_GIVEN - {1})) if _is_helper(x) else _is_moved(x, state)


def _are_lost(x: Instruction, state: State) -> bool:
    """Whether the address of registers is moved from, or given to a helper that reads there, or has it read."""
    return 3 in state and x.imm in _READING_THIRD if _is_helper(x) else _is_moved(x, state)


def _is_helper(x: Instruction) -> bool:
    return x.opcode == _CALL and x.src == i.CALL_HELPER


def _is_moved(x: Instruction, state: State) -> bool:
    return x.opcode & 7 in (i.ALU64, i.ALU) and x.opcode & 0xF0 != i.MOV and x.dst in state


def _loads_from(
    code: Sequence[Instruction], pending: list[tuple[int, State]], is_meant: Callable[[int], bool],
    is_lost: Callable[[Instruction, State], bool] = lambda x, state: False,
) -> bool:  # fmt: skip
    """Whether the pointer may be loaded from, which the states at these slots have, or may be where it `is_lost`."""
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
        if is_lost(x, state):
            return True
        if x.opcode == _CALL and x.src == i.CALL_LOCAL and state & _GIVEN:
            pending.append((slot + 1 + x.imm, state & _GIVEN))
        behind = after(x, state, _is_call)
        if behind:
            pending += [(place, behind) for place in following(x, slot)]
    return False


def _is_call(x: Instruction) -> bool:
    return x.opcode == _CALL and x.src == i.CALL_HELPER and x.imm == NUMBERS["task_pt_regs"]


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
