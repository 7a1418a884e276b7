"""The tokens of Rust's v0 scheme of symbol names, one behind the other: letters, numbers, identifiers."""

from __future__ import annotations

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_VALUE_OF = {digit: value for value, digit in enumerate(_DIGITS)}


class UnknownNameError(Exception):
    """The name does not follow the grammar, or is out of bounds."""


class MangledText:
    """A name from behind its prefix; `at` is where the next token begins. All raise UnknownNameError."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0

    @property
    def is_over(self) -> bool:
        return self.at >= len(self._text)

    def peek(self) -> str:
        """The next character, "" behind the last."""
        return self._text[self.at : self.at + 1]

    def take(self) -> str:
        """The next character, which there has to be."""
        found = self.peek()
        if not found:
            raise UnknownNameError
        self.at += 1
        return found

    def eat(self, expected: str) -> bool:
        """Whether the next character is this one, which is then passed over."""
        if self.peek() == expected:
            self.at += 1
            return True
        return False

    def number(self) -> int:
        """In base 62, "_" alone is 0."""
        if self.eat("_"):
            return 0
        value = 0
        while not self.eat("_"):
            digit = _VALUE_OF.get(self.take())
            if digit is None or value >> 64:
                raise UnknownNameError
            value = value * 62 + digit
        return value + 1

    def optional_number(self, tag: str) -> int:
        """One more than the number behind the tag, 0 without it."""
        return self.number() + 1 if self.eat(tag) else 0

    def identifier(self) -> str:
        """With its length before it, and "u" where it is in punycode."""
        is_punycode = self.eat("u")
        start = self.at
        while self.peek().isdigit() and self._text[start] != "0":
            self.at += 1
        self.at += self._text[start : start + 1] == "0"
        digits = self._text[start : self.at]
        if not digits or len(digits) > 5:
            raise UnknownNameError
        self.eat("_")
        end = self.at + int(digits)
        name = self._text[self.at : end]
        if end > len(self._text):
            raise UnknownNameError
        self.at = end
        return _punycode(name) if is_punycode else name

    def hexadecimal(self) -> str:
        """The digits up to "_", without zeros before them."""
        end = self._text.find("_", self.at)
        digits = self._text[self.at : end]
        if end < 0 or any(digit not in "0123456789abcdef" for digit in digits):
            raise UnknownNameError
        self.at = end + 1
        return digits.lstrip("0") or "0"

    def string(self) -> str:
        """The characters whose bytes are the hexadecimal digits up to "_"."""
        end = self._text.find("_", self.at)
        try:
            text = bytes.fromhex(self._text[self.at : max(end, self.at)]).decode()
        except ValueError:
            raise UnknownNameError from None
        if end < 0:
            raise UnknownNameError
        self.at = end + 1
        return text


def _punycode(name: str) -> str:
    basic, separator, rest = name.rpartition("_")
    try:
        found = ((basic + "-" if separator else "") + rest).encode().decode("punycode")
    except (UnicodeError, ValueError, OverflowError):
        raise UnknownNameError from None
    if not found.isprintable():
        raise UnknownNameError
    return found
