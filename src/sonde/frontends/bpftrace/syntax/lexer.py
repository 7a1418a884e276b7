"""The text of a program, cut into words on demand: what a text means depends on where it stands."""

from __future__ import annotations

import re
from collections.abc import Callable

from sonde.frontends.bpftrace.errors import BtError, SourceSpan
from sonde.model.units import DAY, HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND
from sonde.typed import NamedTuple

_SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_TOKEN = re.compile(
    r"""(?P<number>0[xX][0-9a-fA-F_]+[uUlL]*|[0-9][0-9_]*(?:[eE][0-9][0-9_]*)?[a-zA-Z]*)
    |(?P<map>@[A-Za-z_]\w*|@)
    |(?P<scratch>\$[A-Za-z_]\w*)
    |(?P<positional>\$[0-9]+|\$\#)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<op><<=|>>=|\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|&=|\|=|\^=|[-+*/%&|^~!<>=?:;,.(){}\[\]\#])
    """,
    re.VERBOSE | re.DOTALL,
)
_UNITS = {
    "ns": 1, "us": MICROSECOND, "ms": MILLISECOND, "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY,
}  # fmt: skip
_HEXADECIMAL = re.compile("[0-9a-fA-F_]+")
_C_SUFFIX = re.compile("[uU]?[lL]{0,2}")
"""Behind a number of C, as far as the language knows it."""
_ESCAPE = rb"(?s)\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)"
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b'"': b'"', b"\\": b"\\", b"a": b"\a", b"b": b"\b"}
_LARGEST = (1 << 64) - 1
_MOST_DIGITS = 80
"""Of a number: zeros, underscores and binary forms of 64 bits have room."""


class BtToken(NamedTuple):
    """`kind` is a group of `_TOKEN`, or "" at the end; `text` as written; `start` and `end` are offsets."""

    kind: str
    text: str
    start: int
    end: int


def _the_first(starts: list[int], offset: int) -> int:
    return 1


class SourceText:
    """A text, with the lines that offsets are in."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))] if "\n" in text else [0]
        self._line_of: Callable[[list[int], int], int] = _the_first
        if len(self._starts) > 1:
            from bisect import bisect_right  # one-liners do without

            self._line_of = bisect_right

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column."""
        line = self._line_of(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def span(self, start: int, end: int) -> SourceSpan:
        return SourceSpan(*self.place(start), *self.place(end))


def skip_space(source: SourceText, offset: int) -> int:
    """Behind blanks and comments."""
    found = _SPACE.match(source.text, offset)
    return found.end() if found else offset


def token_at(source: SourceText, offset: int) -> BtToken:
    """The token at an offset, behind blanks."""
    start = skip_space(source, offset)
    if start >= len(source.text):
        return BtToken("", "", start, start)
    found = _TOKEN.match(source.text, start)
    if found is None:
        character = source.text[start]
        what = "unterminated string" if character == '"' else f"invalid character '{character}'"
        if character == "$":
            # Where a statement begins it is the sign itself that is wrong, elsewhere what follows it.
            place = start if source.text[:start].rstrip()[-1:] in ("{", ";", "}") else start + 1
            raise BtError("syntax: expected identifier after '$'", source.span(place, place + 1))
        raise BtError(f"syntax: {what}", source.span(start, start + 1))
    return BtToken(found.lastgroup or "", found[0], start, found.end())


def number_of(text: str, span: SourceSpan) -> tuple[int, bool]:
    """The value of a number, and whether its suffix makes it unsigned."""
    digits, suffix = _split(text)
    if len(digits) > _MOST_DIGITS:
        raise BtError(f"syntax: overflow error, maximum value is {_LARGEST}: {text[:_MOST_DIGITS]}", span)
    if digits.endswith("_"):
        behind = span.column + len(digits)
        raise BtError(
            "syntax: trailing underscore in integer literal", span._replace(column=behind - 1, end_column=behind)
        )
    if digits[:2] in ("0x", "0X") and not _HEXADECIMAL.fullmatch(digits, 2):
        raise BtError(f"syntax: invalid trailing bytes: {text}", span)
    if digits[:2] in ("0x", "0X"):
        value = int(digits.replace("_", ""), 16)
    elif "e" in digits or "E" in digits:
        value = _power(digits, span)
    elif len(digits) > 1 and digits[0] == "0" and digits.replace("_", "").isdigit():
        value = _octal(digits, span)
    else:
        value = int(digits.replace("_", ""))
    if suffix in _UNITS:
        value *= _UNITS[suffix]
    elif rest := suffix[_C_SUFFIX.match(suffix).end() :]:  # type: ignore[union-attr]
        if rest in ("e", "E"):
            raise BtError(f"syntax: invalid trailing bytes: {text}", span)
        place = span._replace(column=span.column + len(text) - len(rest))
        raise BtError(f"syntax: invalid integer suffix '{rest}'", place)
    if value > _LARGEST:
        raise BtError(f"syntax: overflow error, maximum value is {_LARGEST}: {text}", span)
    return value, "u" in suffix.lower() and suffix not in _UNITS


def integer_of(text: str) -> int | None:
    """What a word of the command line is as a number, None if it is none."""
    digits = text.removeprefix("-")
    token = _TOKEN.fullmatch(digits)
    if token is None or token.lastgroup != "number":
        return None
    try:
        value, _ = number_of(digits, SourceSpan(1, 1, 1, 2))
    except BtError:
        return None
    return -value if text.startswith("-") else value


def _split(text: str) -> tuple[str, str]:
    """Digits and suffix."""
    if text[:2] in ("0x", "0X"):
        digits = text.rstrip("uUlL")
        return digits, text[len(digits) :]
    found = re.fullmatch(r"([0-9][0-9_]*(?:[eE][0-9][0-9_]*)?)([a-zA-Z]*)", text)
    assert found is not None
    return found[1], found[2]


def _power(digits: str, span: SourceSpan) -> int:
    mantissa, _, exponent = digits.replace("_", "").replace("E", "e").partition("e")
    if len(mantissa) > 1:
        raise BtError(f"syntax: coefficient part of scientific literal must be 1-9: {digits}", span)
    if int(exponent) > len(str(_LARGEST)):
        raise BtError(f"syntax: overflow error, maximum value is {_LARGEST}: {digits}", span)
    power: int = 10 ** int(exponent)
    return int(mantissa) * power


def _octal(digits: str, span: SourceSpan) -> int:
    try:
        return int(digits.replace("_", ""), 8)
    except ValueError:
        raise BtError(f"syntax: invalid octal integer: {digits}", span) from None


def _character(digits: bytes, found: re.Match[bytes], span: SourceSpan) -> int:
    """Of an octal escape; its place counts characters, of which one may be several bytes."""
    value = int(digits, 8)
    if value > 0xFF:
        start = span.column + 1 + len(found.string[: found.start()].decode(errors="replace"))
        place = span._replace(column=start, end_column=start + len(found[0]))
        raise BtError(f"syntax: octal escape sequence out of range '\\{digits.decode()}'", place)
    return value


def _behind(found: re.Match[bytes], span: SourceSpan) -> SourceSpan:
    """The word, or the character, that follows an escape."""
    before, behind = found.string[: found.end()], found.string[found.end() :].decode(errors="replace")
    word = re.match(r"[A-Za-z_]\w*", behind)
    start = span.column + 1 + len(before.decode(errors="replace"))
    return span._replace(column=start, end_column=start + (len(word[0]) if word else 1))


def text_of(text: str, span: SourceSpan) -> bytes:
    """The characters of a string token."""

    def replaced(found: re.Match[bytes]) -> bytes:
        name = found[1]
        if name in _ESCAPES:
            return _ESCAPES[name]
        if name[:1] == b"x" and len(name) > 1:
            return bytes([int(name[1:], 16)])
        if name.isdigit():
            return bytes([_character(name, found, span)])
        if name in (b"x", b"X"):
            raise BtError("syntax: invalid hex escape sequence", _behind(found, span))
        raise BtError(f"syntax: invalid escape character '\\{name.decode(errors='replace')}'", span)

    whole = text[1:-1].encode(errors="surrogateescape")
    # Compiled where a text has any: a start compiles few expressions.
    return re.sub(_ESCAPE, replaced, whole) if b"\\" in whole else whole
