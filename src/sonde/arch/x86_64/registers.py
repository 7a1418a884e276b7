"""Offsets in struct pt_regs of x86-64 (arch/x86/include/asm/ptrace.h), part of the ABI of tracing programs."""

from __future__ import annotations

SIZE = 168
R15, R14, R13, R12, R11 = 0, 8, 16, 24, 48
R10, R9, R8, AX, CX, DX, SI, DI = 56, 64, 72, 80, 88, 96, 104, 112
BP, BX, ORIG_AX, IP, CS, FLAGS, SP, SS = 32, 40, 120, 128, 136, 144, 152, 160

BY_DWARF_NUMBER = (80, 96, 88, 40, 104, 112, 32, 152, 72, 64, 56, 48, 24, 16, 8, 0, 128)
"""rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip (System V ABI for x86-64, figure 3.36)."""

SYSCALL_ARGUMENTS = (DI, SI, DX, R10, R8, R9)
"""Where a 64-bit system call has its arguments."""

COMPAT_ARGUMENTS = (40, CX, DX, SI, DI, BP)
"""Where a 32-bit system call has its arguments: bx, cx, dx, si, di, bp."""
