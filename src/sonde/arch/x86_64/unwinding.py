"""How the stacks of x86-64 are unwound: the registers that lead from a frame to its caller's by DWARF's numbers (System
V ABI for x86-64, figure 3.36), and what frame descriptions and the kernel write there."""

from __future__ import annotations

BASE, FRAME_POINTER, STACK_POINTER, RETURN = 3, 6, 7, 16
"""rbx, from which the dynamic linker and functions that align their stack count their frames; rbp; rsp; and what stands
for the return address."""

REALIGNED = 10
"""r10, by which functions that align their stack find their arguments."""

KEPT = frozenset((3, 6, 12, 13, 14, 15))
"""rbx, rbp, r12 to r15: a function leaves them as they were (section 3.2.1)."""

AT_ENTRY = 8
"""Bytes from the stack pointer to the frame address at a function's first instruction: the return address is there."""

RETURN_OFFSET = -8
"""Where the return address is, from the frame address."""

AT_CALLED = {True: (STACK_POINTER, AT_ENTRY, RETURN, RETURN_OFFSET), False: (4, 4, 8, -4)}
"""Of 64-bit programs and of 32-bit ones, where a function that has been called has its return address: the stack
pointer, the bytes from it up to the frame address, what stands for the return address, and where that is from the frame
address (Intel386 psABI, table 2.14: %esp is 4, the return address 8)."""

_BREG = 0x70
"""DW_OP_breg0: the value of a register, whose number is added, and an offset."""

BY_BASE, BY_FRAME_POINTER, BY_STACK_POINTER = _BREG + BASE, _BREG + FRAME_POINTER, _BREG + STACK_POINTER

LINKAGE = (bytes((BY_STACK_POINTER, 8, _BREG + RETURN, 0, 0x3F, 0x1A)), bytes((0x2A, 0x33, 0x24, 0x22)))
"""How linkers say the frame address within a procedure linkage table, rsp + 8 + ((rip & 15) >= N) << 3: what is before
and behind DW_OP_litN, where N is how far in an entry of 16 bytes its number has been pushed."""

LINKAGE_ENTRY = 16
"""Bytes of an entry."""

COMMON_RULES = bytes((0x0C, STACK_POINTER, AT_ENTRY, 0x80 + RETURN, 1))
"""What frame descriptions have in common: the frame address at a function's beginning, and the return address below."""

NO_CALLER = bytes((0x07, RETURN))
"""The return address is nowhere."""

CONTEXT_FRAME_POINTER, CONTEXT_BASE, CONTEXT_STACK_POINTER, CONTEXT_COUNTER = 120, 128, 160, 168
"""Where rsp points when a handler has returned: struct ucontext, with the registers of sigcontext
(arch/x86/include/uapi/asm/sigcontext.h) behind its first 40 bytes."""

SIGNAL_RETURN = b"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"
"""mov $15, %rax; syscall: what every C library has a handler return to (SA_RESTORER), and debuggers know it by."""
