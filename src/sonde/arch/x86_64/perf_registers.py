"""Registers of user space in samples: from struct pt_regs to the order of perf, and back."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.arch.x86_64.registers import (
    AX,
    BP,
    BX,
    CS,
    CX,
    DI,
    DX,
    FLAGS,
    IP,
    ORIG_AX,
    R8,
    R9,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15,
    SI,
    SIZE,
    SP,
    SS,
)

_PLACES = {
    **dict(enumerate((AX, BX, CX, DX, SI, DI, BP, SP, IP, FLAGS, CS, SS))),
    **dict(enumerate((R8, R9, R10, R11, R12, R13, R14, R15), 16)),
}
"""Offsets in struct pt_regs of perf's registers AX BX CX DX SI DI BP SP IP FLAGS CS SS, and of R8 to R15, which follow
four segments that perf does not have on x86-64 (arch/x86/include/uapi/asm/perf_regs.h)."""

REGISTERS = sum(1 << number for number in _PLACES)
"""All that attr.sample_regs_user may ask for."""

LEAST = 1 << 7 | 1 << 8
"""Without SP and IP no stack can be walked."""


def user_registers(registers: bytes, mask: int) -> bytes:
    """The u64 registers of `mask`, lowest bit first, of a struct pt_regs."""
    return b"".join(registers[at : at + 8] for number, at in _PLACES.items() if mask >> number & 1)


def known_registers(taken: Sequence[int], mask: int) -> bytes:
    """The struct pt_regs with the registers of `mask`, lowest bit first, whatever that asks for; of others zeros."""
    found = bytearray(SIZE)
    numbers = [number for number in range(mask.bit_length()) if mask >> number & 1]
    for number, value in zip(numbers, taken, strict=True):
        at = _PLACES.get(number)
        if at is not None:
            found[at : at + 8] = value.to_bytes(8, "little")
    return bytes(found)


def pt_regs(taken: Sequence[int], call: int) -> tuple[bytes, int]:
    """The struct pt_regs with these registers, all of REGISTERS in perf's order, and the stack pointer among them.

    `call` is what it has for the number of a system call.
    """
    found = bytearray(known_registers(taken, REGISTERS))
    found[ORIG_AX : ORIG_AX + 8] = call.to_bytes(8, "little")
    return bytes(found), int.from_bytes(found[SP : SP + 8], "little")
