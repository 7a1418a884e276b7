"""eBPF instructions (include/uapi/linux/bpf.h struct bpf_insn, Documentation/bpf/standardization/instruction-set.rst).

One `Instruction` is one 8-byte slot. LD_IMM64 takes two slots, so `ld_imm64` and its kin return two instructions, the
second with opcode 0 and the high half of the value. `imm` and `offset` are signed, as the kernel reads them. Jump
offsets count slots from the one behind the jump.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from sonde.typed import NamedTuple

# Instruction classes, the low three bits of an opcode.
LD, LDX, ST, STX, ALU, JMP, JMP32, ALU64 = range(8)

# Sizes of memory accesses.
W, H, B, DW = 0x00, 0x08, 0x10, 0x18
SIZE_OF_BYTES = {1: B, 2: H, 4: W, 8: DW}
BYTES_OF_SIZE = {B: 1, H: 2, W: 4, DW: 8}

# Modes of memory accesses.
IMM, ABS, IND, MEM, MEMSX, ATOMIC = 0x00, 0x20, 0x40, 0x60, 0x80, 0xC0

# Second operand: the immediate or a register.
K, X = 0x00, 0x08

# Arithmetic. With offset 1, DIV and MOD are signed.
ADD, SUB, MUL, DIV, OR, AND, LSH, RSH = 0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70
NEG, MOD, XOR, MOV, ARSH, END = 0x80, 0x90, 0xA0, 0xB0, 0xC0, 0xD0

# Jumps.
JA, JEQ, JGT, JGE, JSET, JNE, JSGT, JSGE = 0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70
CALL, EXIT, JLT, JLE, JSLT, JSLE, JCOND = 0x80, 0x90, 0xA0, 0xB0, 0xC0, 0xD0, 0xE0

# Atomic operations, in the immediate. ADD, OR, AND and XOR alone, or with FETCH.
FETCH, XCHG, CMPXCHG, LOAD_ACQUIRE, STORE_RELEASE = 0x01, 0xE1, 0xF1, 0x100, 0x110

# What LD_IMM64 loads, in its source register.
PSEUDO_VALUE, PSEUDO_MAP_FD, PSEUDO_MAP_VALUE, PSEUDO_BTF_ID, PSEUDO_FUNC = range(5)
PSEUDO_MAP_INDEX, PSEUDO_MAP_INDEX_VALUE = 5, 6

# What CALL calls, in its source register.
CALL_HELPER, CALL_LOCAL, CALL_KFUNC = range(3)

R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 = range(11)

LD_IMM64 = LD | DW | IMM
"""The opcode of the first of the two slots of a 64-bit immediate load."""

INSTRUCTION_SIZE = 8

_LAYOUT = struct.Struct("<BBhi")


class Instruction(NamedTuple):
    """One slot of struct bpf_insn: u8 opcode, u4 dst, u4 src, s16 offset, s32 imm."""

    opcode: int
    dst: int = 0
    src: int = 0
    offset: int = 0
    imm: int = 0


def encode(code: Iterable[Instruction]) -> bytes:
    """The bytes BPF_PROG_LOAD takes, 8 for each instruction."""
    pack = _LAYOUT.pack
    return b"".join([pack(opcode, dst | src << 4, offset, imm) for opcode, dst, src, offset, imm in code])


def decode(code: bytes) -> list[Instruction]:
    """The instructions of `code`, whose length must be a multiple of 8 (else struct.error)."""
    return [
        Instruction(opcode, registers & 15, registers >> 4, offset, imm)
        for opcode, registers, offset, imm in _LAYOUT.iter_unpack(code)
    ]


def signed32(value: int) -> int:
    """The low 32 bits of `value` as the signed number an immediate holds."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


# Arithmetic.


def alu64_reg(operation: int, dst: int, src: int, offset: int = 0) -> Instruction:
    """dst = dst `operation` src, 64 bits."""
    return Instruction(ALU64 | X | operation, dst, src, offset)


def alu64_imm(operation: int, dst: int, imm: int, offset: int = 0) -> Instruction:
    """dst = dst `operation` imm, 64 bits; the immediate is sign-extended."""
    return Instruction(ALU64 | K | operation, dst, 0, offset, signed32(imm))


def alu32_reg(operation: int, dst: int, src: int, offset: int = 0) -> Instruction:
    """The same on 32 bits; the high half of dst becomes zero."""
    return Instruction(ALU | X | operation, dst, src, offset)


def alu32_imm(operation: int, dst: int, imm: int, offset: int = 0) -> Instruction:
    """The same on 32 bits; the high half of dst becomes zero."""
    return Instruction(ALU | K | operation, dst, 0, offset, signed32(imm))


def neg(dst: int) -> Instruction:
    """dst = -dst, 64 bits."""
    return Instruction(ALU64 | NEG, dst)


def neg32(dst: int) -> Instruction:
    """dst = -dst, 32 bits."""
    return Instruction(ALU | NEG, dst)


def mov_reg(dst: int, src: int) -> Instruction:
    """dst = src."""
    return Instruction(ALU64 | X | MOV, dst, src)


def mov_imm(dst: int, imm: int) -> Instruction:
    """dst = imm, sign-extended to 64 bits."""
    return Instruction(ALU64 | K | MOV, dst, 0, 0, signed32(imm))


def mov32_reg(dst: int, src: int) -> Instruction:
    """dst = (u32)src."""
    return Instruction(ALU | X | MOV, dst, src)


def mov32_imm(dst: int, imm: int) -> Instruction:
    """dst = (u32)imm."""
    return Instruction(ALU | K | MOV, dst, 0, 0, signed32(imm))


def movsx(dst: int, src: int, bits: int) -> Instruction:
    """dst = src's low `bits` (8, 16, 32), sign-extended to 64 (needs Linux 6.6)."""
    return Instruction(ALU64 | X | MOV, dst, src, bits)


def movsx32(dst: int, src: int, bits: int) -> Instruction:
    """dst = src's low `bits` (8, 16), sign-extended to 32, the high half zero (needs Linux 6.6)."""
    return Instruction(ALU | X | MOV, dst, src, bits)


def to_little_endian(dst: int, bits: int) -> Instruction:
    """dst's low `bits` (16, 32, 64) to little-endian, the rest zero."""
    return Instruction(ALU | K | END, dst, 0, 0, bits)


def to_big_endian(dst: int, bits: int) -> Instruction:
    """dst's low `bits` (16, 32, 64) to big-endian, the rest zero."""
    return Instruction(ALU | X | END, dst, 0, 0, bits)


def byte_swap(dst: int, bits: int) -> Instruction:
    """Swap the bytes of dst's low `bits` (16, 32, 64) whatever the machine (needs Linux 6.6)."""
    return Instruction(ALU64 | K | END, dst, 0, 0, bits)


# Memory.


def load(size: int, dst: int, src: int, offset: int, signed: bool = False) -> Instruction:
    """dst = *(size bytes at src + offset), zero-extended, or sign-extended (1, 2 or 4 bytes; needs Linux 6.6)."""
    return Instruction(LDX | (MEMSX if signed else MEM) | SIZE_OF_BYTES[size], dst, src, offset)


def store_reg(size: int, dst: int, offset: int, src: int) -> Instruction:
    """*(size bytes at dst + offset) = src."""
    return Instruction(STX | MEM | SIZE_OF_BYTES[size], dst, src, offset)


def store_imm(size: int, dst: int, offset: int, imm: int) -> Instruction:
    """*(size bytes at dst + offset) = imm, sign-extended for 8 bytes."""
    return Instruction(ST | MEM | SIZE_OF_BYTES[size], dst, 0, offset, signed32(imm))


def atomic(size: int, operation: int, dst: int, offset: int, src: int) -> Instruction:
    """An atomic operation on 4 or 8 bytes at dst + offset.

    `operation` is ADD, OR, AND or XOR; with FETCH, the old value comes back in src; XCHG likewise; CMPXCHG compares
    with R0, stores src if equal and leaves the old value in R0.
    """
    return Instruction(STX | ATOMIC | SIZE_OF_BYTES[size], dst, src, offset, operation)


def atomic_add(size: int, dst: int, offset: int, src: int) -> Instruction:
    """*(size bytes at dst + offset) += src, atomically."""
    return atomic(size, ADD, dst, offset, src)


def ld_imm64(dst: int, value: int, src: int = PSEUDO_VALUE) -> list[Instruction]:
    """dst = value, all 64 bits: two instructions."""
    return [Instruction(LD_IMM64, dst, src, 0, signed32(value)), Instruction(0, 0, 0, 0, signed32(value >> 32))]


def ld_map_fd(dst: int, descriptor: int = 0) -> list[Instruction]:
    """dst = the map of that descriptor: two instructions."""
    return ld_imm64(dst, descriptor & 0xFFFFFFFF, PSEUDO_MAP_FD)


def ld_map_value(dst: int, offset: int = 0, descriptor: int = 0) -> list[Instruction]:
    """dst = address of byte `offset` of the only value of an array map: two instructions."""
    return ld_imm64(dst, descriptor & 0xFFFFFFFF | offset << 32, PSEUDO_MAP_VALUE)


def ld_function(dst: int, offset: int) -> list[Instruction]:
    """dst = address of the BPF function `offset` slots behind this load's first slot, less one (as `call_local`)."""
    return ld_imm64(dst, offset & 0xFFFFFFFF, PSEUDO_FUNC)


# Control flow.


def jump(offset: int) -> Instruction:
    """Skip `offset` instructions."""
    return Instruction(JMP | JA, 0, 0, offset)


def jump_long(offset: int) -> Instruction:
    """The same with a 32-bit offset (needs Linux 6.6)."""
    return Instruction(JMP32 | JA, 0, 0, 0, offset)


def jump_reg(condition: int, dst: int, src: int, offset: int) -> Instruction:
    """Skip `offset` instructions if dst `condition` src."""
    return Instruction(JMP | X | condition, dst, src, offset)


def jump_imm(condition: int, dst: int, imm: int, offset: int) -> Instruction:
    """Skip `offset` instructions if dst `condition` imm (sign-extended)."""
    return Instruction(JMP | K | condition, dst, 0, offset, signed32(imm))


def jump32_reg(condition: int, dst: int, src: int, offset: int) -> Instruction:
    """The same comparing the low 32 bits."""
    return Instruction(JMP32 | X | condition, dst, src, offset)


def jump32_imm(condition: int, dst: int, imm: int, offset: int) -> Instruction:
    """The same comparing the low 32 bits."""
    return Instruction(JMP32 | K | condition, dst, 0, offset, signed32(imm))


def call(helper: int) -> Instruction:
    """r0 = helper(r1 ... r5); r1 to r5 are lost."""
    return Instruction(JMP | CALL, 0, CALL_HELPER, 0, helper)


def call_local(offset: int) -> Instruction:
    """r0 = the BPF function `offset` instructions behind the next one (r1 ... r5)."""
    return Instruction(JMP | CALL, 0, CALL_LOCAL, 0, offset)


def call_kfunc(btf_id: int, module: int = 0) -> Instruction:
    """r0 = a kernel function by BTF type id; `module` is an index into fd_array, 0 for vmlinux."""
    return Instruction(JMP | CALL, 0, CALL_KFUNC, module, btf_id)


def exit_() -> Instruction:
    """Return r0."""
    return Instruction(JMP | EXIT)
