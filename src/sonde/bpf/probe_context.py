"""The context of general probe programs: registers and arguments, the same whatever fired.

The program type is sonde's own, so this structure is its ABI (all in the machine's byte order):
  registers   struct pt_regs where it happened, zeros where there is none;
  arguments   arg0 to arg9, u64 each, 0 behind the last;
  cookie      u64, of the attachment, as bpf_get_attach_cookie gives it;
  count       u32, how many arguments there are;
  errno       u32, the error of the system call that is returning, else 0;
  probe       u32, the identifier of what fired, whose name bpf_probe_name gives;
  kind        u32, the type of the program that is fired so, or was and called (enum bpf_prog_type).
"""

from __future__ import annotations

REGISTERS = 0
REGISTERS_SIZE = 168
ARGUMENTS = 168
MAX_ARGUMENTS = 10
COOKIE = ARGUMENTS + 8 * MAX_ARGUMENTS
COUNT = COOKIE + 8
ERRNO = COUNT + 4
PROBE = ERRNO + 4
KIND = PROBE + 4
SIZE = KIND + 4

IN_REGISTERS = 6
"""The arguments of a function that is entered, of which the others are on its stack."""

ON_STACK = frozenset((*range(ARGUMENTS + 8 * IN_REGISTERS, COOKIE, 8), COUNT))
"""Where what is on the stack of such a function is, or depends on it."""
