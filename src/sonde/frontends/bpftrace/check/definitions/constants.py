"""Constant expressions of C: those of #if, enumerators, arrays and bit-fields (C17, 6.6)."""

from __future__ import annotations

import re
from collections.abc import Callable

from sonde.frontends.bpftrace.check.definitions.reader import TokenReader
from sonde.frontends.bpftrace.check.definitions.tokens import CTextError, CToken

_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
_COMPUTED: dict[str, Callable[[int, int], int]] = {
    "|": int.__or__, "^": int.__xor__, "&": int.__and__, "+": int.__add__, "-": int.__sub__, "*": int.__mul__,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b, "<<": lambda a, b: a << (b & 63),
    ">>": lambda a, b: a >> (b & 63),
    "||": lambda a, b: bool(a or b), "&&": lambda a, b: bool(a and b),
}  # fmt: skip
_UNARY: dict[str, Callable[[int], int]] = {
    "-": int.__neg__, "+": int.__pos__, "~": int.__invert__, "!": lambda a: not a,
}  # fmt: skip
_ESCAPES = {"n": 10, "t": 9, "r": 13, "0": 0, "a": 7, "b": 8, "f": 12, "v": 11}
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)(?:[uU]?[lL]{0,2}|[lL]{1,2}[uU])$")
_LARGEST = 1 << 64

Operand = Callable[[TokenReader], int]
"""Reads an operand that begins with a name, or a cast, as whoever asks for the expression understands it."""


def constant(reader: TokenReader, named: Operand, cast: Operand | None = None) -> int:
    """An expression without commas; `cast` takes a parenthesis that a type follows, else there are none. Raises
    CTextError."""
    test = _binary(reader, 0, named, cast)
    if not reader.accept("?"):
        return test
    with reader.nested():
        then = constant(reader, named, cast)
        reader.expect(":")
        otherwise = constant(reader, named, cast)
    return then if test else otherwise


def _binary(reader: TokenReader, level: int, named: Operand, cast: Operand | None) -> int:
    if level == len(_LEVELS):
        return _unary(reader, named, cast)
    left = _binary(reader, level + 1, named, cast)
    while reader.token.text in _LEVELS[level]:
        sign = reader.next()
        left = _combined(sign, left, _binary(reader, level + 1, named, cast))
    return left


def _combined(sign: CToken, left: int, right: int) -> int:
    if sign.text in _COMPUTED:
        return wrapped(_COMPUTED[sign.text](left, right))
    if not right:
        # A condition may decide against it; so it is only wrong where its value is used, which a compiler tells.
        return 0
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return quotient if sign.text == "/" else left - quotient * right


def wrapped(value: int) -> int:
    """A number in 64 bits: signed, or unsigned where it is larger."""
    value = int(value)
    if -(_LARGEST >> 1) <= value < _LARGEST:
        return value
    return value % _LARGEST


def _unary(reader: TokenReader, named: Operand, cast: Operand | None) -> int:
    token = reader.token
    with reader.nested():
        if token.text in _UNARY:
            reader.next()
            return wrapped(_UNARY[token.text](_unary(reader, named, cast)))
        if token.text == "(":
            if cast is not None and reader.starts_type(1):
                return cast(reader)
            reader.next()
            value = constant(reader, named, cast)
            reader.expect(")")
            return value
    if token.kind == "name":
        return named(reader)
    reader.next()
    if token.kind == "number":
        return number(token)
    if token.kind == "character":
        return _character(token)
    raise CTextError("expected expression", token)


def operand(reader: TokenReader, named: Operand, cast: Operand) -> int:
    """What a cast stands before."""
    return _unary(reader, named, cast)


def number(token: CToken) -> int:
    found = _NUMBER.match(token.text.replace("'", ""))
    if found is None:
        raise CTextError(f"invalid integer constant '{token.text}'", token)
    digits = found[1]
    if digits[0] == "0" and digits[1:].isdigit():
        if not set(digits) <= set("01234567"):
            raise CTextError(f"invalid digit in octal constant '{token.text}'", token)
        return wrapped(int(digits, 8))
    return wrapped(int(digits, 0))


def _character(token: CToken) -> int:
    text = token.text[token.text.index("'") + 1 : -1]
    if text[:2] == "\\x":
        return int(text[2:] or "0", 16) & 0xFF
    if text[:1] == "\\":
        return int(text[1:], 8) & 0xFF if text[1:].isdigit() else _ESCAPES.get(text[1:], ord(text[1:2] or "\0"))
    return ord(text) if len(text) == 1 else 0
