"""Reading kernel memory, which is what Memory has (mm/maccess.c).

Of addresses behind which Memory has nothing, the kernel tries some and refuses the others, by different errors.
"""

from __future__ import annotations

from collections.abc import Callable
from errno import EFAULT, ERANGE

from sonde.runtime.environment import Environment
from sonde.runtime.machine.memory import OFFSET_BITS, OFFSET_MASK

_SIZE = 0xFFFF_FFFF
"""Sizes are u32 parameters."""


def make(environment: Environment) -> dict[str, Callable[[int, int, int], int]]:
    regions, write = environment.memory.regions, environment.memory.write
    kernel_tries = environment.addresses.kernel_tries

    def probe_read_kernel(destination: int, size: int, source: int) -> int:
        size &= _SIZE
        buffer = regions.get(source >> OFFSET_BITS)
        offset = source & OFFSET_MASK
        if buffer is not None and offset + size <= len(buffer):
            write(destination, buffer[offset : offset + size])
            return 0
        write(destination, bytes(size))
        if not kernel_tries(source):
            return -ERANGE
        return -EFAULT if size else 0

    def probe_read_kernel_str(destination: int, size: int, source: int) -> int:
        size &= _SIZE
        if not size:
            return 0
        buffer = regions.get(source >> OFFSET_BITS)
        if buffer is None:
            write(destination, bytes(size))
            return -EFAULT if kernel_tries(source) else -ERANGE
        offset = source & OFFSET_MASK
        text = bytes(buffer[offset : offset + size])
        end = text.find(0)
        if end >= 0:
            write(destination, text[: end + 1])
            return end + 1
        if len(text) < size:
            write(destination, bytes(size))
            return -EFAULT
        write(destination, text[:-1] + b"\0")
        return size

    return {"probe_read_kernel": probe_read_kernel, "probe_read_kernel_str": probe_read_kernel_str}
