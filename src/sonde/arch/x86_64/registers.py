"""Registers of x86-64: where struct pt_regs has them (arch/x86/include/asm/ptrace.h), which is part of the ABI of
tracing programs, and the parts they play.

struct user_regs_struct, which ptrace(2) takes and gives, begins with the same words (arch/x86/include/asm/user_64.h).
"""

from __future__ import annotations

MEMBERS = (
    "r15", "r14", "r13", "r12", "bp", "bx", "r11", "r10", "r9", "r8", "ax", "cx", "dx", "si", "di", "orig_ax", "ip",
    "cs", "flags", "sp", "ss",
)  # fmt: skip
"""The members of struct pt_regs, each of 8 bytes, in their order."""

SIZE = 8 * len(MEMBERS)
USER_SIZE = 27 * 8
"""Bytes of struct user_regs_struct."""

R15, R14, R13, R12, R11 = 0, 8, 16, 24, 48
R10, R9, R8, AX, CX, DX, SI, DI = 56, 64, 72, 80, 88, 96, 104, 112
BP, BX, ORIG_AX, IP, CS, FLAGS, SP, SS = 32, 40, 120, 128, 136, 144, 152, 160

PROGRAM_COUNTER, STACK_POINTER, FRAME_POINTER = IP, SP, BP
BASE = BX
"""The other register from which functions count their frames (`unwinding.py`)."""

RESULTS = (AX, DX)
"""Where a function has its result, and what does not fit into the first."""

ARGUMENTS = (DI, SI, DX, CX, R8, R9)
"""Where a function has its first integer arguments (System V ABI, AMD64 supplement, 3.2.3)."""

CALL_NUMBER, CALL_RESULT = ORIG_AX, AX
"""Of the system call that a thread is in, -1 if it is in none; what it returns."""

CALL_NUMBER_MEMBER = "orig_ax"

CALL_ARGUMENTS = (DI, SI, DX, R10, R8, R9)
"""Where a 64-bit system call has its arguments."""

CALL_ARGUMENT_MEMBERS = ("di", "si", "dx", "r10", "r8", "r9")

COMPAT_CALL_ARGUMENTS = (BX, CX, DX, SI, DI, BP)
"""Where a 32-bit system call has its arguments."""

COMPAT_CALL_ARGUMENT_MEMBERS = ("bx", "cx", "dx", "si", "di", "bp")

MODE, MODE_BITS, KERNEL_MODE = CS, 3, 0
"""The word whose lowest bits are the processor's privilege level, which bits, and that of the kernel."""

MODE_32_BIT = 0x23
"""The whole word of a process of 32 bits (__USER32_CS, arch/x86/include/asm/segment.h)."""

BY_DWARF_NUMBER = (AX, DX, CX, BX, SI, DI, BP, SP, R8, R9, R10, R11, R12, R13, R14, R15, IP)
"""By the number that debug information has for a register (System V ABI for x86-64, figure 3.36)."""

COUNTER_BY_DWARF = 16
"""The number there of the program counter."""

THREAD_POINTER = 168
"""Where struct user_regs_struct has the thread pointer, fs_base."""

THREAD_POINTER_MEMBER = "fsbase"
"""Of struct thread_struct, where the kernel keeps the thread pointer where it has set it (do_arch_prctl_64,
arch/x86/kernel/process_64.c)."""
