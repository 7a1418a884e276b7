"""The build id among ELF notes (elf(5), `Nhdr`)."""

from __future__ import annotations

import struct

_NOTE = struct.Struct("=III")
_GNU_BUILD_ID = 3
_LONGEST = 64
"""Bytes of a build id."""


def note_of(data: bytes) -> bytes:
    """The build id in ELF notes, b"" if there is none."""
    at = 0
    while at + _NOTE.size <= len(data):
        name_size, size, kind = _NOTE.unpack_from(data, at)
        start = at + _NOTE.size + (name_size + 3 & ~3)
        if kind == _GNU_BUILD_ID and data[at + _NOTE.size :][:name_size] == b"GNU\0" and size <= _LONGEST:
            return data[start : start + size]
        at = start + (size + 3 & ~3)
    return b""
