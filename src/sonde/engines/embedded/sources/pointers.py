"""Which memory a program reads behind the arguments of a system call, or registers at a breakpoint, where that can be
proved.

What a program reads of the process is known before it runs if each address is an argument as the system call got it, or
so far from one, and each size a number or bounded by one: then it can be fetched where the call is entered, and the
thread need not be held. The proof follows values through registers and the stack. What is in doubt is no argument, and
a store or a helper that may write to the stack puts in doubt all that it could reach.
"""

from __future__ import annotations

from collections.abc import Mapping

from sonde.arch import registers
from sonde.bpf import instructions as i
from sonde.bpf import probe_context, programs
from sonde.bpf.helpers import NUMBERS
from sonde.bpf.instructions import Instruction, decode
from sonde.engines.embedded.sources.registers import following
from sonde.model.spec import ProgramSpec

READING = frozenset(
    NUMBERS[name] for name in ("probe_read", "probe_read_str", "probe_read_user", "probe_read_user_str")
)
"""Helpers that read memory of the process: (destination, size, address)."""

_TAIL_CALL, _CURRENT, _REGISTERS = NUMBERS["tail_call"], NUMBERS["get_current_task_btf"], NUMBERS["task_pt_regs"]
_ARGUMENTS = {offset: number for number, offset in enumerate(registers.CALL_ARGUMENTS)}
_ALL = {offset: offset // 8 for offset in range(0, registers.SIZE, 8)}
_CONVERTED = {probe_context.ARGUMENTS + 8 * number: at // 8 for number, at in enumerate(registers.ARGUMENTS)}
"""Of a function that is entered, the arguments in a general program's context, behind the registers."""
_FRAME = i.R10
_MOVED = ("stack", "argument")
"""Values to which numbers may be added."""

_FAR = 1 << 20

Value = tuple[str, int, int]
"""("argument", what is added, its place), ("number", it, 0), ("most", what it is at most, 0), ("stack", offset from the
frame pointer, 0), ("anywhere", 0, 0) on the stack, ("task", 0, 0) the current one, ("registers", 0, 0) its
struct pt_regs."""

Read = tuple[int, int, int]
"""An argument's place, what is added, the most bytes that are read there."""

State = dict[int, Value]
"""What registers hold, by number, and words of the stack, by their offset from the frame pointer, below 0."""

_ANYWHERE: Value = ("anywhere", 0, 0)
_TASK: Value = ("task", 0, 0)
_OF_TASK: Value = ("registers", 0, 0)


class _Doubt(Exception):  # noqa: N818 - it is no error
    """The proof fails."""


def pointers_read(program: ProgramSpec, at_site: bool = False) -> dict[tuple[int, int], int] | None:
    """Argument and what is added to it -> the most bytes that are read there; None if the program may read other memory
    of the process. For a program of a uprobe, or a general one that runs `at_site` of a breakpoint, it is a register's
    place in struct pt_regs, in words, for the argument."""
    code = decode(program.code)
    is_uprobe = at_site or program.kind == programs.KPROBE
    calls = [n for n, x in enumerate(code) if x.opcode == i.JMP | i.CALL and x.src == i.CALL_HELPER]
    if any(code[n].imm == _TAIL_CALL for n in calls):
        return None
    try:
        reads = _explore(code, {**_ALL, **_CONVERTED} if is_uprobe else _ARGUMENTS, {1: _OF_TASK} if is_uprobe else {})
    except _Doubt:
        return None
    if reads.keys() != {n for n in calls if code[n].imm in READING}:
        # One is in another function, to which values are not followed.
        return None
    found: dict[tuple[int, int], int] = {}
    for argument, offset, size in reads.values():
        found[argument, offset] = max(found.get((argument, offset), 0), size)
    return found


def _explore(code: list[Instruction], arguments: Mapping[int, int], given: State) -> dict[int, Read]:
    """What each call reads, by its slot; `arguments` are known by their offsets in struct pt_regs, `given` is what the
    program begins with. Raises _Doubt."""
    reads = {}
    seen: dict[int, State] = {0: {_FRAME: ("stack", 0, 0), **given}}
    pending = [0]
    while pending:
        slot = pending.pop()
        x, state = code[slot], dict(seen[slot])
        if x.opcode == i.JMP | i.CALL:
            if x.src == i.CALL_HELPER and x.imm in READING:
                reads[slot] = _read(state)
            _call(x, state)
        else:
            _step(x, state, arguments)
        for after in following(x, slot):
            known = seen.get(after)
            merged = dict(state) if known is None else _merged(known, state)
            if merged != known:
                seen[after] = merged
                pending.append(after)
    return reads


def _merged(first: State, other: State) -> State:
    """What holds in both; what may point to the stack in one may in both."""
    merged = {}
    for place in first.keys() | other.keys():
        values = first.get(place), other.get(place)
        if values[0] is not None and values[0] == values[1]:
            merged[place] = values[0]
        elif any(_is_stack(value) for value in values):
            merged[place] = _ANYWHERE
    return merged


def _is_stack(value: Value | None) -> bool:
    return value is not None and value[0] in ("stack", "anywhere")


def _read(state: State) -> Read:
    size, address = state.get(2), state.get(3)
    if size is None or size[0] not in ("number", "most") or address is None or address[0] != "argument":
        raise _Doubt
    return address[2], address[1], size[1] & 0xFFFF_FFFF


def _call(x: Instruction, state: State) -> None:
    arguments = [value for value in map(state.get, range(1, 6)) if value is not None and _is_stack(value)]
    if x.src == i.CALL_KFUNC or (x.src == i.CALL_LOCAL and arguments):
        raise _Doubt
    is_current = state.get(1) == _TASK
    for value in arguments:
        _forget_from(state, value)
    for register in range(6):
        state.pop(register, None)
    if x.src == i.CALL_HELPER and x.imm == _CURRENT:
        state[0] = _TASK
    elif x.src == i.CALL_HELPER and x.imm == _REGISTERS and is_current:
        state[0] = _OF_TASK


def _forget_from(state: State, pointer: Value, size: int = 1 << 16) -> None:
    """So many bytes of the stack from there on have changed, or may have."""
    kind, offset, _ = pointer
    for place in [each for each in state if each < 0]:
        if kind == "anywhere" or offset - 8 < place < offset + size:
            del state[place]


def _step(x: Instruction, state: State, arguments: Mapping[int, int]) -> None:
    kind = x.opcode & 7
    if kind in (i.ALU, i.ALU64):
        _set(state, x.dst, _calculated(x, state))
    elif kind == i.LDX:
        _set(state, x.dst, _loaded(x, state, arguments))
    elif kind in (i.ST, i.STX):
        _store(x, state)
    elif x.opcode == i.LD_IMM64:
        if x.src == i.PSEUDO_FUNC:
            raise _Doubt
        # It may be known only when the program is loaded.
        state.pop(x.dst, None)
    elif kind == i.LD:
        for register in range(6):
            state.pop(register, None)


def _set(state: State, place: int, value: Value | None) -> None:
    if value is None:
        state.pop(place, None)
    else:
        state[place] = value


def _calculated(x: Instruction, state: State) -> Value | None:
    operation, is_register, is_wide = x.opcode & 0xF0, x.opcode & i.X, x.opcode & 7 == i.ALU64
    if operation == i.MOV and not is_register:
        return "number", x.imm if is_wide else x.imm & 0xFFFF_FFFF, 0
    if operation == i.AND and not is_register and x.imm >= 0 and not _is_stack(state.get(x.dst)):
        return "most", x.imm, 0
    first, second = state.get(x.dst), state.get(x.src) if is_register else None
    if operation == i.MOV:
        return second if is_wide and not x.offset else _ANYWHERE if _is_stack(second) else None
    if first is not None and first[0] in _MOVED and is_wide and operation in (i.ADD, i.SUB) and not is_register:
        moved = first[1] + (x.imm if operation == i.ADD else -x.imm)
        if _is_stack(first) or abs(moved) <= _FAR:
            return first[0], moved, first[2]
    return _ANYWHERE if _is_stack(first) or (operation != i.END and _is_stack(second)) else None


def _loaded(x: Instruction, state: State, arguments: Mapping[int, int]) -> Value | None:
    base = state.get(x.src)
    is_word = x.opcode == i.LDX | i.MEM | i.DW
    if base == _OF_TASK and is_word and x.offset in arguments:
        return "argument", 0, arguments[x.offset]
    if base is not None and base[0] == "stack" and is_word:
        place = base[1] + x.offset
        return state.get(place) if place < 0 else None
    return _ANYWHERE if base == _ANYWHERE else None


def _store(x: Instruction, state: State) -> None:
    base, value = state.get(x.dst), state.get(x.src) if x.opcode & 7 == i.STX else None
    is_atomic = x.opcode & 7 == i.STX and x.opcode & 0xE0 == i.ATOMIC
    if is_atomic and x.imm in (i.LOAD_ACQUIRE, i.STORE_RELEASE):
        raise _Doubt
    if _is_stack(value) and (is_atomic or base is None or base[0] != "stack"):
        # The pointer would be where its value is not followed to.
        raise _Doubt
    if base is not None and _is_stack(base):
        size = i.BYTES_OF_SIZE[x.opcode & 0x18]
        place = base[1] + x.offset
        _forget_from(state, (base[0], place, 0), size)
        if base[0] == "stack" and size == 8 and place < 0 and not is_atomic:
            _set(state, place, value)
    if is_atomic:
        # What was there may be loaded.
        state.pop(i.R0 if x.imm == i.CMPXCHG else x.src, None)
