"""Binary formats of other tools and of the kernel: bytes to values and back, no system calls."""
