"""x86-64: registers, calling convention, system calls, instructions, addresses."""
