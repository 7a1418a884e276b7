"""Rust's legacy scheme of symbol names, which looks like that of C++: parts with their lengths, the last one a hash."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\$(\w{1,8})\$|\.\.")
_ESCAPES = {"SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ","}


def path_of(text: str) -> str | None:
    """The path whose parts these are, None if they do not follow the grammar."""
    parts, at = [], 0
    while at < len(text):
        digits = re.match(r"\d{1,4}", text[at:])
        if not digits:
            return None
        at += digits.end()
        size = int(digits[0])
        part = text[at : at + size]
        if not size or len(part) < size:
            return None
        parts.append(_ESCAPE.sub(_unescaped, part[1:] if part.startswith("_$") else part))
        at += size
    return "::".join(parts)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if code is None:
        return "::"
    if code in _ESCAPES:
        return _ESCAPES[code]
    if code[0] == "u" and all(digit in "0123456789abcdef" for digit in code[1:]) and len(code) > 1:
        value = int(code[1:], 16)
        if value < 0x110000 and not 0xD800 <= value < 0xE000 and chr(value).isprintable():
            return chr(value)
    return found[0]
