"""The kernel that runs: its release, and the build id by which its types and code are known."""

from __future__ import annotations

import os
import struct

from sonde.untrusted import read_kernel

_NOTE = struct.Struct("<III")
_BUILD_ID = 3
"""NT_GNU_BUILD_ID"""


def release() -> str:
    return os.uname().release


def build_id(path: str = "/sys/kernel/notes") -> str:
    """Hexadecimal digits, "" where the kernel does not tell."""
    try:
        notes = read_kernel(path)
    except OSError:
        return ""
    at = 0
    while at + _NOTE.size <= len(notes):
        name, size, kind = _NOTE.unpack_from(notes, at)
        start = at + _NOTE.size + (name + 3 & -4)
        if kind == _BUILD_ID:
            return notes[start : start + size].hex()
        at = start + (size + 3 & -4)
    return ""
