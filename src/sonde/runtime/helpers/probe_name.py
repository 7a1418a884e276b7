"""What fired a program, as text (bpf/helpers.py: PROBE_NAME)."""

from __future__ import annotations

from collections.abc import Callable

from sonde.runtime.environment import Environment

_SIZE = 0xFFFF_FFFF


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    memory = environment.memory

    def probe_name(context: int, destination: int, size: int) -> int:
        """The length of the text with its NUL."""
        size &= _SIZE
        text = environment.probe_names.get(environment.probe, b"")[: size - 1] + b"\0"
        memory.write(destination, text.ljust(size, b"\0"))
        return len(text)

    return {"probe_name": probe_name}
