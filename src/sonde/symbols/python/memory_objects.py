"""Objects of Python as they are in memory: str and bytes (Include/cpython/unicodeobject.h, bytesobject.h)."""

from __future__ import annotations

from collections.abc import Callable

Read = Callable[[int, int], bytes]
"""So many bytes at an address of a process; fewer, or none, if they cannot be read."""

MOST_TEXT, MOST_BYTES = 1024, 1 << 16
"""Characters of a text, and bytes of a table, that are read."""

_LENGTH, _STATE = 16, 32
_BYTES_AT = 32
_CONTENT = 40
"""From here on nothing changes as long as the object is there."""

_ENCODINGS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}
_SMALLER, _APART = 0x030C, 0x030E
"""The versions since which a str has a smaller header, and the state in the upper half of its word."""


def text_of(address: int, copied: bytes, version: int, read: Read) -> str | None:
    """A str whose beginning has been `copied`; None if it is none, or not to be had. Long texts are cut, with an
    ellipsis."""
    if not address:
        return None
    header = 56 if version >= _SMALLER else 72
    if not int.from_bytes(copied[_STATE : _STATE + 4], "little"):
        copied = read(address, len(copied))
    state = int.from_bytes(copied[_STATE : _STATE + 4], "little") >> (16 if version >= _APART else 2)
    kind, is_compact, is_ascii = state & 7, state >> 3 & 1, state >> 4 & 1
    length = int.from_bytes(copied[_LENGTH : _LENGTH + 8], "little")
    if kind not in _ENCODINGS or not is_compact:
        return None
    start = header - 16 - (8 if version < _SMALLER else 0) if is_ascii else header
    end = start + kind * min(length, MOST_TEXT)
    if end > len(copied):
        more = read(address, end)
        copied = more if more[_CONTENT : len(copied)] == copied[_CONTENT:] else copied
    text = copied[start:end].decode(_ENCODINGS[kind], errors="replace")
    return text if len(text) == length else f"{text}…"


def bytes_of(address: int, copied: bytes, read: Read) -> tuple[bytes, bool]:
    """A bytes object whose beginning has been `copied`, as far as it is to be had, and whether that is all of it."""
    size = int.from_bytes(copied[_LENGTH : _LENGTH + 8], "little")
    if not size and address:
        copied = read(address, len(copied))
        size = int.from_bytes(copied[_LENGTH : _LENGTH + 8], "little")
    end = _BYTES_AT + min(size, MOST_BYTES)
    if end > len(copied):
        more = read(address, end)
        copied = more if more[_CONTENT : len(copied)] == copied[_CONTENT:] else copied
    content = copied[_BYTES_AT:end]
    return content, len(content) == size
