"""Raw memory as rows of sixteen bytes, hexadecimal and as characters."""

from __future__ import annotations

_INDENT = b" " * 5
_HEADING = b"\n%b      %b  0123456789abcdef\n" % (_INDENT, b"".join(b"  %x" % column for column in range(16)))
_PRINTABLE = bytes(byte if 0x20 <= byte < 0x7F else 0x2E for byte in range(256))


def hexdump(data: bytes) -> bytes:
    """The dump of trace() and tracemem(), from the newline before its heading to the one after its last row."""
    rows = [_HEADING]
    for start in range(0, len(data), 16):
        row = data[start : start + 16]
        numbers = b"".join([b" %02x" % byte for byte in row])
        rows.append(b"%b%5x:%-48b  %b\n" % (_INDENT, start, numbers, row.translate(_PRINTABLE)))
    return b"".join(rows)


def is_printable(data: bytes) -> bool:
    """Whether the bytes are one text, all zeros after it."""
    text = data.rstrip(b"\0")
    return bool(text) and all(0x20 <= byte < 0x7F or 0x07 <= byte <= 0x0D for byte in text)
