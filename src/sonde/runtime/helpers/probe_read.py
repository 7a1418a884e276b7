"""Reading memory that may not be there: the program's own and the traced process's (kernel/trace/bpf_trace.c).

What cannot be read is zeros in the destination. Helpers that do not say which memory they mean go by the address.
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.runtime.environment import Environment
from sonde.runtime.helpers import kernel_memory, recorded_memory, user_memory

Read = Callable[[int, int, int], int]
"""long probe_read(void *destination, u32 size, const void *source)"""


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    if environment.recorded is not None:
        return recorded_memory.make(environment)
    user, kernel = user_memory.make(environment), kernel_memory.make(environment)
    end = environment.addresses.user_end
    return {
        **user,
        **kernel,
        "probe_read": _by_address(end, user["probe_read_user"], kernel["probe_read_kernel"]),
        "probe_read_str": _by_address(end, user["probe_read_user_str"], kernel["probe_read_kernel_str"]),
    }


def _by_address(user_end: int, user: Read, kernel: Read) -> Read:
    def read(destination: int, size: int, source: int) -> int:
        return (user if source < user_end else kernel)(destination, size, source)

    return read
