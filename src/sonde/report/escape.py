"""Characters as a C programmer would write them."""

from __future__ import annotations

_NAMED = {0: b"\\0", 7: b"\\a", 8: b"\\b", 9: b"\\t", 10: b"\\n", 11: b"\\v", 12: b"\\f", 13: b"\\r"}
_NAMED |= {ord('"'): b'\\"', ord("\\"): b"\\\\"}
_ESCAPES = [
    _NAMED.get(byte, bytes([byte]) if 0x20 <= byte < 0x7F else b"\\x%02x" % byte) for byte in range(256)
]  # fmt: skip


_OCTAL = [each if each[:2] != b"\\x" else b"\\%03o" % byte for byte, each in enumerate(_ESCAPES)]


def escaped_in_octal(text: bytes) -> bytes:
    """The same with octal numbers of three digits, as `%S` shows them: a digit behind one is no part of it."""
    return b"".join([_OCTAL[byte] for byte in text])


def escaped(text: bytes) -> bytes:
    """The characters, with C's escape sequences for those that do not print, and for quotes and backslashes."""
    return b"".join([_ESCAPES[byte] for byte in text])
