"""The program that a process runs, by its file."""

from __future__ import annotations

from sonde.untrusted import read_start

_CLASS, _32_BIT = 4, 1
"""EI_CLASS and ELFCLASS32 of elf(5)."""


def is_32_bit(pid: int) -> bool:
    """Whether it has addresses of 32 bits; False where that cannot be told."""
    try:
        found = read_start(f"/proc/{pid}/exe", _CLASS + 1)
    except OSError:
        return False
    return len(found) > _CLASS and found[:_CLASS] == b"\x7fELF" and found[_CLASS] == _32_BIT
