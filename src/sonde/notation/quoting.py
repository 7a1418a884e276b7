"""Characters as a C string constant has them, the way strace(1) escapes them."""

from __future__ import annotations

_LETTERS = {0x22: '\\"', 0x5C: "\\\\", 0x0C: "\\f", 0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x0B: "\\v"}
_PRINTED = range(0x20, 0x7F)
_DIGITS = range(0x30, 0x38)


def quoted(data: bytes, is_cut: bool = False) -> str:
    """The bytes between quotation marks; dots behind them where there are more."""
    return f'"{escaped(data)}"' + ("..." if is_cut else "")


def escaped(data: bytes) -> str:
    """What is not printed is a number in octal, with as few digits as what follows allows."""
    if data.isascii() and data.isalnum():
        return data.decode()
    parts = []
    for place, byte in enumerate(data):
        if byte in _LETTERS:
            parts.append(_LETTERS[byte])
        elif byte in _PRINTED:
            parts.append(chr(byte))
        else:
            is_followed = place + 1 < len(data) and data[place + 1] in _DIGITS
            parts.append(f"\\{byte:03o}" if is_followed else f"\\{byte:o}")
    return "".join(parts)
