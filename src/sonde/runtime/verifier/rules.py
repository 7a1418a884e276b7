"""What is refused of that which the kernel lets users with CAP_PERFMON do, though it is a mistake: none of it reaches
memory that the program was not given."""

from __future__ import annotations

from sonde.typed import NamedTuple


class Rules(NamedTuple):
    """`addresses`: addresses of the engine's memory in the place of numbers. `unused_stack`: a value for a map that
    lies deeper in the stack than anything is ever written, a key in a stack to which nothing is. `unwritten_stack`: any
    byte of the stack that is read and was not written on the way there."""

    addresses: bool
    unused_stack: bool
    unwritten_stack: bool


KERNEL = Rules(False, False, False)
"""As the kernel for a user with CAP_PERFMON (`allow_uninit_stack` and `allow_ptr_leaks` of its verifier, Linux 6.3)."""

USUAL = Rules(True, True, False)

STRICT = Rules(True, True, True)
"""As the kernel before Linux 6.3, which has nobody read what was not written, for a user without CAP_PERFMON."""
