"""Which instructions there are: whether the fields of one make sense together.

RFC 9669 (Documentation/bpf/standardization/instruction-set.rst) and what Linux has beyond it; where a field has no
meaning it has to be 0, as there. The functions give what is wrong in words, None if nothing is.
"""

from __future__ import annotations

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction

_READABLE = 11

_RESERVED = "a field that has to be 0 is not"
FRAME = "r10 is the frame pointer, which cannot be changed"
UNKNOWN = "there is no such instruction"


CALL_BY_REGISTER = i.JMP | i.CALL | i.X
"""Calls the helper whose number is in dst; not in the kernel."""


def wrong(x: Instruction, second: Instruction | None = None) -> str | None:
    """What is wrong with an instruction; `second` is the slot behind it."""
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


def _arithmetic(x: Instruction, bits: int) -> str | None:
    operation, by_register = x.opcode & 0xF0, bool(x.opcode & i.X)
    if x.dst == 10:
        return FRAME
    if operation == i.END:
        return _byte_order(x, bits)
    if operation == i.NEG:
        return _RESERVED if by_register or x.src or x.offset or x.imm else None
    if operation > i.END:
        return UNKNOWN
    if (by_register and x.imm) or (not by_register and x.src):
        return _RESERVED
    return None if not x.offset or x.offset in _offsets(operation, by_register, bits) else _RESERVED


def _offsets(operation: int, by_register: bool, bits: int) -> tuple[int, ...]:
    """What the offset can be besides 0: signed division has 1, sign extension the number of bits."""
    if operation in (i.DIV, i.MOD):
        return (1,)
    if operation == i.MOV and by_register:
        return (8, 16, 32) if bits == 64 else (8, 16)
    return ()


def _byte_order(x: Instruction, bits: int) -> str | None:
    if x.src or x.offset or (bits == 64 and x.opcode & i.X):
        return _RESERVED
    return None if x.imm in (16, 32, 64) else f"{x.imm} is no number of bits whose bytes can be swapped"


def _flow(x: Instruction, group: int) -> str | None:
    operation = x.opcode & 0xF0
    if x.opcode == CALL_BY_REGISTER:
        return _RESERVED if x.src or x.offset or x.imm else None
    if operation in (i.CALL, i.EXIT, i.JCOND) and (group == i.JMP32 or x.opcode & i.X):
        return UNKNOWN
    if operation > i.JCOND:
        return UNKNOWN
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


def is_packet_load(x: Instruction) -> bool:
    """Whether this is one of classic BPF's loads from the packet, which the ISA keeps."""
    return x.opcode & 7 == i.LD and x.opcode & 0xE0 in (i.ABS, i.IND) and x.opcode & 0x18 != i.DW


def _immediate(x: Instruction, second: Instruction | None) -> str | None:
    if is_packet_load(x):
        return _RESERVED if x.dst or x.offset or (x.opcode & 0xE0 == i.ABS and x.src) else None
    if x.opcode != i.LD_IMM64:
        return UNKNOWN
    if x.dst == 10:
        return FRAME
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
            return UNKNOWN
        if x.dst == 10:
            return FRAME
        return _RESERVED if x.imm else None
    if group == i.ST:
        return UNKNOWN if mode != i.MEM else _RESERVED if x.src else None
    if mode == i.MEM:
        return _RESERVED if x.imm else None
    if mode != i.ATOMIC:
        return UNKNOWN
    if x.imm == i.LOAD_ACQUIRE:
        return FRAME if x.dst == 10 else None
    if x.imm == i.STORE_RELEASE:
        return None
    if x.imm not in _ATOMICS or size not in (i.W, i.DW):
        return "there is no such atomic operation"
    return FRAME if x.imm & i.FETCH and x.imm != i.CMPXCHG and x.src == 10 else None
