"""The context of general probe programs: what fired is not to be seen in it, only registers and arguments.

The program type is sonde's own, so this structure is its ABI (all in the machine's byte order):
  registers   struct pt_regs where it happened, zeros where there is none;
  arguments   arg0 to arg9, u64 each, 0 behind the last;
  cookie      u64, of the attachment, as bpf_get_attach_cookie gives it;
  count       u32, how many arguments there are;
  errno       u32, the error of the system call that is returning, else 0.
"""

from __future__ import annotations

REGISTERS = 0
REGISTERS_SIZE = 168
ARGUMENTS = 168
MAX_ARGUMENTS = 10
COOKIE = ARGUMENTS + 8 * MAX_ARGUMENTS
COUNT = COOKIE + 8
ERRNO = COUNT + 4
SIZE = ERRNO + 4
