"""Mangled names that only have identifiers in them (Itanium C++ ABI, 5.1.2 and 5.1.3; Rust's legacy scheme): most
functions have one, and it tells their scopes without a demangler, which is another process."""

from __future__ import annotations

import re

SEPARATOR = "::"
_HASH = re.compile(r"h[0-9a-f]{16}")
"""What Rust has as the last part."""

_LENGTH = re.compile(r"L?([1-9][0-9]{0,3})")
_TAG = re.compile(r"B([1-9][0-9]{0,3})")
_QUALIFIERS = re.compile(r"[rVK]*[RO]?")
_STRUCTORS = re.compile(r"([CD])[0-5]E")
_ANONYMOUS = "(anonymous namespace)"


def scopes(symbol: str) -> list[str] | None:
    """The scopes and the name of a function; None for a symbol that has more in it, which is no mangled one perhaps."""
    if not symbol.startswith("_Z") or "." in symbol:
        return None
    if not symbol.startswith("_ZN"):
        found, at = _identifier(symbol, 2)
        return [found] if found and at < len(symbol) else None
    match = _QUALIFIERS.match(symbol, 3)
    at = match.end() if match else 3
    parts = []
    if symbol.startswith("St", at):
        parts, at = ["std"], at + 2
    while True:
        found, at = _identifier(symbol, at)
        if not found:
            break
        parts.append(found)
    special = _STRUCTORS.match(symbol, at)
    if special and parts:
        return [*parts, ("~" if special[1] == "D" else "") + parts[-1]]
    if not symbol.startswith("E", at) or not parts:
        return None
    return parts[:-1] if at + 1 == len(symbol) and _HASH.fullmatch(parts[-1]) else parts


def _identifier(symbol: str, at: int) -> tuple[str, int]:
    """The identifier there, and what is behind it and its tags; "" if there is none that means itself."""
    length = _LENGTH.match(symbol, at)
    if length is None:
        return "", at
    end = length.end() + int(length[1])
    found = symbol[length.end() : end]
    if end > len(symbol) or "$" in found:
        return "", at
    while (tag := _TAG.match(symbol, end)) is not None:
        end = tag.end() + int(tag[1])
    return (_ANONYMOUS if found.startswith("_GLOBAL__N") else found), end
