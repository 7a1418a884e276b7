"""Registers of user space in samples: from struct pt_regs to the order of perf."""

from __future__ import annotations

_PT_REGS = {
    **dict(enumerate((80, 40, 96, 88, 104, 112, 32, 152, 128, 144, 136, 160))),
    **dict(enumerate((72, 64, 56, 48, 24, 16, 8, 0), 16)),
}
"""Offsets in struct pt_regs of perf's registers AX BX CX DX SI DI BP SP IP FLAGS CS SS, and of R8 to R15, which follow
four segments that perf does not have on x86-64 (arch/x86/include/uapi/asm/perf_regs.h)."""

REGISTERS = sum(1 << number for number in _PT_REGS)
"""What attr.sample_regs_user may ask for."""


def user_registers(registers: bytes, mask: int) -> bytes:
    """The u64 registers of `mask`, lowest bit first, of a struct pt_regs."""
    return b"".join(registers[at : at + 8] for number, at in _PT_REGS.items() if mask >> number & 1)
