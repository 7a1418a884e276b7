"""What the debug registers watch for (Intel's manual, volume 3, chapter 19: breakpoint condition detection)."""

READ, WRITE, EXECUTE = 1, 2, 4
"""HW_BREAKPOINT_* (include/uapi/linux/hw_breakpoint.h), as attr.bp_type has them."""

ACCESSES = {"w": WRITE, "rw": READ | WRITE, "x": EXECUTE}
"""What the processor can watch for: it cannot tell a read from a write alone."""

LENGTHS = (1, 2, 4, 8)
"""Bytes that a register watches, at a multiple of their number."""

INSTRUCTION_LENGTH = 8
"""With which the kernel has instructions watched: sizeof(long)."""
