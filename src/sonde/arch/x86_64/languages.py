"""What D programs and their preprocessor call x86-64 and its registers; D's libraries about it are in `library/`."""

from __future__ import annotations

MACROS = ("__amd64",)
"""What the preprocessor defines."""

INDEXES = 26
"""Of uregs[]: R_R15 (0) to R_TRAPNO (25), as regs.d names them; below OUTSIDE they count struct pt_regs."""

OUTSIDE = {21: ("ds", 2), 22: ("es", 2), 23: ("fsbase", 8), 24: ("gsbase", 8), 25: ("trap_nr", 8)}
"""The indexes of registers besides struct pt_regs: members of struct thread_struct and their sizes."""

REGISTER_NAMES = {
    "ip": "R_RIP", "sp": "R_RSP", "bp": "R_RBP", "ax": "R_RAX", "di": "R_RDI", "si": "R_RSI", "dx": "R_RDX",
}  # fmt: skip
"""Indexes by what other tracers call registers; those with numbers are R_R8 to R_R15."""

REGISTER_ORDER = (
    "r15", "r14", "r13", "r12", "bp", "bx", "r11", "r10", "r9", "r8", "ax", "cx", "dx", "si", "di", "orig_ax", "ip",
    "cs", "flags", "sp", "ss",
)  # fmt: skip
"""Names of the members of struct pt_regs (arch/x86/include/asm/ptrace.h), by the indexes of uregs[]."""

PROGRAM_COUNTER = "ip"
"""Which of them says where the processor is."""
