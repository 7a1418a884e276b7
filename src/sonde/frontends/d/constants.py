"""The values of integer, character and string constants, from their spelling in the source."""

from __future__ import annotations

import re

from sonde.frontends.d.errors import DError
from sonde.frontends.d.syntax import Integer, StringLiteral
from sonde.model.errors import Position
from sonde.model.types import INT, LLONG, LONG, UINT, ULLONG, ULONG, Int

_ESCAPE = rb"(?s)\\([0-7]{1,3}|x[0-9a-fA-F]*|.)"
_SIMPLE_ESCAPES = {
    b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v",
    b'"': b'"', b"\\": b"\\",
}  # fmt: skip


def integer(text: str, position: Position) -> Integer:
    """The constant that `text` spells, with its type by C's rules (C11 6.4.4.1)."""
    digits = text.rstrip("uUlL")
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10
    try:
        value = int(digits, base) if len(digits) < 100 else 1 << 64
    except ValueError:
        raise DError(
            "D_INT_DIGIT", f"constant {text} contains invalid digit {_wrong_digit(digits, base)}", position
        ) from None
    if value >= 1 << 64:
        raise DError("D_INT_OFLOW", f"constant {text} results in integer overflow", position)
    return Integer(position, value, _integer_type(value, text[len(digits) :].lower(), base == 10))


def _wrong_digit(digits: str, base: int) -> str:
    allowed = "0123456789abcdef"[:base]
    return next((digit for digit in digits if digit.lower() not in allowed), "x")


def _integer_type(value: int, suffix: str, is_decimal: bool) -> Int:
    unsigned = "u" in suffix
    if "l" not in suffix:
        if value < 1 << 31 and not unsigned:
            return INT
        if value < 1 << 32 and (unsigned or not is_decimal):
            return UINT
    signed_type, unsigned_type = (LLONG, ULLONG) if "ll" in suffix else (LONG, ULONG)
    return unsigned_type if unsigned or value >= 1 << 63 else signed_type


def character(text: str, position: Position) -> Integer:
    """The constant `'...'`: the first of up to eight characters is the most significant byte."""
    content = _unescape(text[1:-1].replace("\\'", "'"))
    if not content:
        raise DError("D_CHR_NULL", "empty character constant", position)
    if len(content) > 8:
        raise DError("D_CHR_OFLOW", "character constant is too long", position)
    value = int.from_bytes(content, "big")
    return Integer(position, value, _integer_type(value, "", False), is_character=True)


def string(text: str, position: Position) -> StringLiteral:
    """The constant `"..."`."""
    return StringLiteral(position, _unescape(text[1:-1]))


def _unescape(text: str) -> bytes:
    content = text.encode("utf-8", "surrogateescape")
    return re.sub(_ESCAPE, _escape_value, content) if b"\\" in content else content


def _escape_value(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    if escape[0] in b"01234567":
        return bytes([int(escape, 8) & 0xFF])
    if escape[0] == 0x78:
        return bytes([int(escape[-2:] if len(escape) > 2 else b"0" + escape[1:], 16)])
    # An escape that C does not know keeps its backslash, as in DTrace.
    return _SIMPLE_ESCAPES.get(escape, match[0])
