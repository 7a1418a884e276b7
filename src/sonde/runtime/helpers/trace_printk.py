"""What programs print (bpf_trace_printk and bpf_trace_vprintk in kernel/trace/bpf_trace.c)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from errno import EINVAL

from sonde.runtime.environment import Environment
from sonde.runtime.helpers.printing import ARGUMENTS, formatted
from sonde.runtime.helpers.strings import make_reader

_SIZE = 0xFFFF_FFFF
_ROOM = 1024
"""MAX_BPRINTF_BUF: bytes of a text, with its NUL."""


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    memory = environment.memory

    def say(template: int, size: int, arguments: Sequence[int]) -> int:
        """The length of the text, which may be longer than what is kept of it, or -errno."""
        text, end, _ = memory.read(template, size & _SIZE).partition(b"\0")
        made = formatted(text, arguments, make_reader(environment)) if end else -EINVAL
        if isinstance(made, int):
            return made
        environment.printed(made[: _ROOM - 1].partition(b"\0")[0])
        return len(made)

    def trace_printk(template: int, size: int, first: int, second: int, third: int) -> int:
        return say(template, size, (first, second, third))

    def trace_vprintk(template: int, size: int, data: int, data_size: int) -> int:
        data_size &= _SIZE
        if data_size % 8 or data_size > 8 * ARGUMENTS or (data_size and not data):
            return -EINVAL
        return say(template, size, memoryview(memory.read(data, data_size) if data_size else b"").cast("Q").tolist())

    return {"trace_printk": trace_printk, "trace_vprintk": trace_vprintk}
