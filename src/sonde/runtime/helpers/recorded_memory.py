"""Reading memory where firings come from a recording: what it holds is there, all else is a bad address.

The machine's own memory is read as ever, since programs copy by these helpers, too.
"""

from __future__ import annotations

from collections.abc import Callable
from errno import EFAULT

from sonde.runtime.environment import Environment
from sonde.runtime.helpers import kernel_memory
from sonde.runtime.machine.memory import OFFSET_BITS

_SIZE = 0xFFFF_FFFF
"""Sizes are u32 parameters."""

Read = Callable[[int, int, int], int]


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    own = kernel_memory.make(environment)
    regions, user_end = environment.memory.regions, environment.addresses.user_end

    def kernel(name: str, recorded: Read) -> Read:
        machine = own[name]

        def read(destination: int, size: int, source: int) -> int:
            return (machine if source >> OFFSET_BITS in regions else recorded)(destination, size, source)

        return read

    def by_address(user: Read, other: Read) -> Read:
        return lambda destination, size, source: (user if source < user_end else other)(destination, size, source)

    plain = _plain(environment, True), kernel("probe_read_kernel", _plain(environment, False))
    text = _text(environment, True), kernel("probe_read_kernel_str", _text(environment, False))
    return {
        "probe_read_user": plain[0], "probe_read_kernel": plain[1], "probe_read": by_address(*plain),
        "probe_read_user_str": text[0], "probe_read_kernel_str": text[1], "probe_read_str": by_address(*text),
        "probe_write_user": lambda destination, source, size: 0,
        "copy_from_user": plain[0],
        "copy_from_user_task": lambda destination, size, source, task, flags: plain[0](destination, size, source),
    }  # fmt: skip


def _plain(environment: Environment, is_user: bool) -> Read:
    write = environment.memory.write

    def read(destination: int, size: int, source: int) -> int:
        size &= _SIZE
        recorded = environment.recorded
        data = recorded.read(is_user, source, size) if recorded is not None and size else b""
        write(destination, bytes(size) if data is None else data)
        return -EFAULT if data is None else 0

    return read


def _text(environment: Environment, is_user: bool) -> Read:
    write = environment.memory.write

    def read(destination: int, size: int, source: int) -> int:
        size &= _SIZE
        if not size:
            return 0
        recorded = environment.recorded
        data = recorded.string(is_user, source, size - 1) if recorded is not None else None
        if data is None:
            write(destination, bytes(size))
            return -EFAULT
        write(destination, data + b"\0")
        return len(data) + 1

    return read
