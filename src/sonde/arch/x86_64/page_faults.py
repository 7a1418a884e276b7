"""Tracepoints of page faults, as those of x86-64 tell them (arch/x86/include/asm/trace/exceptions.h).

What follows are names and conditions in D.
"""

from __future__ import annotations

USER, KERNEL = "page_fault_user", "page_fault_kernel"
"""A fault of a process's own, and one of the kernel."""

OF_PROCESS = "(long)args->address >= 0"
"""At an address in the lower half, which the kernel also touches for the process."""

DENIED = "(args->error_code & 1) != 0"
"""The page was there and the access was not allowed."""
