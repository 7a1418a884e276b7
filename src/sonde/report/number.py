"""Numbers as C's printf writes them, where Python's % differs."""

from __future__ import annotations

import struct

_DIGITS = {"d": b"%d", "u": b"%d", "o": b"%o", "x": b"%x", "X": b"%X"}
_PREFIXES = {"x": b"0x", "X": b"0X"}


def c_integer(value: int, letter: str, flags: str, width: int, precision: int) -> bytes:
    """One integer; `letter` is one of d u o x X, `value` not negative for the last four.

    A negative width means left-aligned. A precision below 1 counts as none, as DTrace has it.
    """
    digits = _DIGITS[letter] % abs(value)
    if letter in "du" and ("'" in flags or "," in flags):
        digits = _grouped(digits, b"," if "," in flags else _separator())
    if precision > 0:
        digits = digits.rjust(precision, b"0")
    prefix = _sign(value, flags) if letter == "d" else b""
    if "#" in flags and value:
        prefix = _PREFIXES.get(letter, prefix)
        if letter == "o" and not digits.startswith(b"0"):
            digits = b"0" + digits
    if width < 0 or "-" in flags:
        return (prefix + digits).ljust(abs(width))
    if "0" in flags and precision <= 0:
        digits = digits.rjust(width - len(prefix), b"0")
    return (prefix + digits).rjust(width)


def _sign(value: int, flags: str) -> bytes:
    if value < 0:
        return b"-"
    return b"+" if "+" in flags else b" " if " " in flags else b""


def _grouped(digits: bytes, separator: bytes) -> bytes:
    """Thousands separated."""
    if not separator:
        return digits
    head = len(digits) % 3
    groups = [digits[start : start + 3] for start in range(head, len(digits), 3)]
    return separator.join([digits[:head], *groups] if head else groups)


def _separator() -> bytes:
    """What the user's locale wants between thousands; the C locale wants nothing."""
    import locale  # an option alone needs it

    earlier = locale.setlocale(locale.LC_NUMERIC)
    try:
        locale.setlocale(locale.LC_NUMERIC, "")
        separator = str(locale.localeconv()["thousands_sep"])
    except locale.Error:
        separator = ""
    finally:
        locale.setlocale(locale.LC_NUMERIC, earlier)
    return separator.encode()


REALS = ("float", "complex", "quad", "bfloat")
"""Kinds of TypeSpec that are floating-point numbers."""


def real_text(raw: bytes, kind: str) -> bytes:
    """A floating-point number of a kind that TypeSpec tells apart, its imaginary part behind it."""
    found = real_value(raw, kind)
    return b"%g%+gi" % (found.real, found.imag) if isinstance(found, complex) else b"%g" % found


def real_value(raw: bytes, kind: str) -> float | complex:
    """The same as Python has it: what is more precise than a double loses of that."""
    if kind == "complex":
        half = len(raw) // 2
        return complex(as_real(raw[:half], half), as_real(raw[half:], half))
    if kind == "bfloat":
        return as_real(b"\0\0" + raw, 4)
    return _quad(raw) if kind == "quad" else as_real(raw, len(raw))


def _quad(raw: bytes) -> float:
    """IEEE 754's binary128: sign, 15 bits of exponent, 112 of the fraction; what is beyond a double loses precision."""
    number = int.from_bytes(raw, "little")
    exponent, fraction = number >> 112 & 0x7FFF, number & (1 << 112) - 1
    if exponent == 0x7FFF:
        magnitude = float("nan") if fraction else float("inf")
    else:
        mantissa = fraction | (1 << 112 if exponent else 0)
        magnitude = _scaled(mantissa >> 48, max(exponent, 1) - 16383 - 64)
    return -magnitude if number >> 127 else magnitude


def _scaled(mantissa: int, exponent: int) -> float:
    from math import ldexp  # a library of its own, for numbers that are rare

    try:
        return ldexp(mantissa, exponent)
    except OverflowError:
        return float("inf")


def as_real(data: int | bytes, size: int) -> float:
    """The float or double whose bytes were recorded, as an integer or raw; a long double loses precision."""
    raw = data.to_bytes(size, "little", signed=data < 0) if isinstance(data, int) else data[:size]
    if size in (2, 4):
        return float(struct.unpack("<e" if size == 2 else "<f", raw)[0])
    return float(struct.unpack("<d", raw)[0]) if size == 8 else _extended(raw)


def _extended(raw: bytes) -> float:
    """An extended value of 80 bits: 64-bit mantissa with its integer bit, 15-bit exponent, sign."""
    mantissa, head = struct.unpack("<QH", raw[:10])
    exponent = head & 0x7FFF
    if exponent == 0x7FFF:
        magnitude = float("nan") if mantissa << 1 & (1 << 64) - 1 else float("inf")
    else:
        try:
            magnitude = mantissa * 2.0 ** (exponent - 16383 - 63)
        except OverflowError:
            magnitude = float("inf")
    return -magnitude if head >> 15 else magnitude


def wide_character(value: int) -> bytes:
    """A wchar_t in UTF-8; what is no character, as a question mark."""
    try:
        return chr(value).encode()
    except (ValueError, OverflowError):
        return b"?"
