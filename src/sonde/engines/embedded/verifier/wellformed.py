"""Whether the fields of one instruction make sense together (RFC 9669, and what Linux makes of reserved fields).

Some of that, as in Linux, matters only where the instruction can be reached at all.
"""

from __future__ import annotations

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.bpf.maps import ARRAY
from sonde.spec import MapSpec

_READABLE = 11


def always_wrong(x: Instruction, second: Instruction | None, of: MapSpec | None) -> str | None:
    """What is wrong with an instruction even if no path leads to it; `second` is the slot behind it, `of` the map that
    it refers to."""
    text = wrong(x, second)
    if x.opcode & 7 in (i.LD, i.LDX):
        if text is None and second is not None and x.src in _REFERENCES and x.opcode == i.LD_IMM64:
            return _reference(x, second, of)
        return text if text != _FRAME else None
    return text if text == _UNKNOWN else None


_TO_VALUES = (i.PSEUDO_MAP_VALUE, i.PSEUDO_MAP_INDEX_VALUE)
_REFERENCES = (i.PSEUDO_MAP_FD, i.PSEUDO_MAP_INDEX, *_TO_VALUES)


def _reference(x: Instruction, second: Instruction, of: MapSpec | None) -> str | None:
    """What is wrong with a reference to a map or its value (array_map_direct_value_addr() of kernel/bpf/arraymap.c)."""
    if of is None:
        return "it refers to a map that the program does not have"
    if x.src not in _TO_VALUES:
        return None
    if of.kind != ARRAY or of.max_entries != 1:
        return f"it refers to a value of map {of.name}, but only an array of one element has one at a fixed address"
    if not 0 <= second.imm < of.value_size:
        return f"it refers to byte {second.imm} of a value of map {of.name}, which has {of.value_size} bytes"
    return None


def wrong(x: Instruction, second: Instruction | None = None) -> str | None:
    """What is wrong with an instruction, None if nothing is; `second` is the slot behind it."""
    if x.dst >= _READABLE or (x.src >= _READABLE and x.opcode != i.LD_IMM64):
        return f"there is no register r{max(x.dst, x.src)}"
    group = x.opcode & 7
    if group in (i.ALU, i.ALU64):
        return _arithmetic(x, 64 if group == i.ALU64 else 32)
    if group in (i.JMP, i.JMP32):
        return _flow(x, group)
    if group == i.LD:
        return _immediate(x, second)
    return _memory(x, group)


_RESERVED = "a field that has to be 0 is not"
_FRAME = "r10 is the frame pointer, which cannot be changed"
_UNKNOWN = "there is no such instruction"


def _arithmetic(x: Instruction, bits: int) -> str | None:
    operation, by_register = x.opcode & 0xF0, bool(x.opcode & i.X)
    if x.dst == 10:
        return _FRAME
    if operation == i.END:
        return _byte_order(x, bits)
    if operation == i.NEG:
        return _RESERVED if by_register or x.src or x.offset or x.imm else None
    if operation > i.END:
        return _UNKNOWN
    if (by_register and x.imm) or (not by_register and x.src):
        return _RESERVED
    if x.offset:
        return _with_offset(x, operation, by_register, bits)
    if not by_register:
        if operation in (i.LSH, i.RSH, i.ARSH) and not 0 <= x.imm < bits:
            return f"the number is shifted by {x.imm} bits, but has only {bits}"
        if operation in (i.DIV, i.MOD) and x.imm == 0:
            return "division by the constant 0"
    return None


def _with_offset(x: Instruction, operation: int, by_register: bool, bits: int) -> str | None:
    """Signed division has offset 1, sign extension the number of bits."""
    if operation in (i.DIV, i.MOD):
        if x.offset != 1:
            return _RESERVED
        return "division by the constant 0" if not by_register and x.imm == 0 else None
    if operation == i.MOV and by_register:
        widths = (8, 16, 32) if bits == 64 else (8, 16)
        return None if x.offset in widths else _RESERVED
    return _RESERVED


def _byte_order(x: Instruction, bits: int) -> str | None:
    if x.src or x.offset or (bits == 64 and x.opcode & i.X):
        return _RESERVED
    return None if x.imm in (16, 32, 64) else f"{x.imm} is no number of bits whose bytes can be swapped"


def _flow(x: Instruction, group: int) -> str | None:
    operation = x.opcode & 0xF0
    if operation in (i.CALL, i.EXIT, i.JCOND) and (group == i.JMP32 or x.opcode & i.X):
        return _UNKNOWN
    if operation > i.JCOND:
        return _UNKNOWN
    if operation == i.CALL:
        if x.src > i.CALL_KFUNC:
            return _RESERVED
        return _RESERVED if x.dst or (x.offset and x.src != i.CALL_KFUNC) else None
    if operation == i.EXIT:
        return _RESERVED if x.dst or x.src or x.offset or x.imm else None
    if operation == i.JA:
        unused = x.offset if group == i.JMP32 else x.imm
        return _RESERVED if x.dst or x.src or unused or x.opcode & i.X else None
    if operation == i.JCOND:
        return _RESERVED if x.dst or x.src or x.imm else None
    return _RESERVED if (x.imm if x.opcode & i.X else x.src) else None


def _immediate(x: Instruction, second: Instruction | None) -> str | None:
    if x.opcode != i.LD_IMM64:
        if x.opcode & 0xE0 in (i.ABS, i.IND):
            return "the packet loads of classic BPF are not supported: read the packet through pointers"
        return _UNKNOWN
    if x.dst == 10:
        return _FRAME
    if x.offset or (second is not None and (second.opcode or second.dst or second.src or second.offset)):
        return _RESERVED
    return _RESERVED if x.src > i.PSEUDO_MAP_INDEX_VALUE else None


_ATOMICS = frozenset(
    {operation | fetch for operation in (i.ADD, i.OR, i.AND, i.XOR) for fetch in (0, i.FETCH)} | {i.XCHG, i.CMPXCHG}
)


def _memory(x: Instruction, group: int) -> str | None:
    mode, size = x.opcode & 0xE0, x.opcode & 0x18
    if group == i.LDX:
        if mode not in (i.MEM, i.MEMSX) or (mode == i.MEMSX and size == i.DW):
            return _UNKNOWN
        if x.dst == 10:
            return _FRAME
        return _RESERVED if x.imm else None
    if group == i.ST:
        return _UNKNOWN if mode != i.MEM else _RESERVED if x.src else None
    if mode == i.MEM:
        return _RESERVED if x.imm else None
    if mode != i.ATOMIC:
        return _UNKNOWN
    if x.imm == i.LOAD_ACQUIRE:
        return _FRAME if x.dst == 10 else None
    if x.imm == i.STORE_RELEASE:
        return None
    if x.imm not in _ATOMICS or size not in (i.W, i.DW):
        return "there is no such atomic operation"
    return _FRAME if x.imm & i.FETCH and x.imm != i.CMPXCHG and x.src == 10 else None
