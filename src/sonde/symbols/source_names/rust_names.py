"""Rust's symbol names as the source has them: the scheme v0 (RFC 2603, "Rust Symbol Name Mangling v0") and the legacy
one, which looks like C++. Hashes of crates and types of constants are left out.

Names may be hostile: depth, length and steps are bounded, and a name beyond them, or against the grammar, is left as it
is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_LONGEST = 4096
"""Characters, of what is read and of what is written."""

_DEEPEST = 150
_MOST_STEPS = 20_000

_LEGACY = re.compile(r"_{1,2}ZN(\d[\w.$]+)17h[0-9a-f]{16}E(\.[\w.$]*)?")
_V0 = re.compile(r"_{1,2}R(?=[A-Z])([0-9A-Za-z_]+)(\.[\w.$]*)?", re.ASCII)
_LLVM = re.compile(r"\.llvm\.[0-9A-F]+")
_ESCAPE = re.compile(r"\$(\w{1,8})\$|\.\.")
_ESCAPES = {"SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ","}

_BASIC = {
    "a": "i8", "b": "bool", "c": "char", "d": "f64", "e": "str", "f": "f32", "h": "u8", "i": "isize", "j": "usize",
    "l": "i32", "m": "u32", "n": "i128", "o": "u128", "s": "i16", "t": "u16", "u": "()", "v": "...", "x": "i64",
    "y": "u64", "z": "!", "p": "_",
}  # fmt: skip
_SIGNED, _UNSIGNED = "aslxni", "htmyoj"
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_VALUE_OF = {digit: value for value, digit in enumerate(_DIGITS)}


class _UnknownError(Exception):
    """The name does not follow the grammar, or is out of bounds."""


def demangle(name: str) -> str | None:
    """The name as it was written, None if it is not one of Rust's."""
    if len(name) > _LONGEST:
        return None
    found = _LEGACY.fullmatch(name)
    if found:
        path = _legacy(found[1])
        return None if path is None else path + _suffix(found[2])
    found = _V0.fullmatch(name)
    if not found:
        return None
    try:
        return _Printer(found[1]).symbol() + _suffix(found[2])
    except _UnknownError:
        return None


def _suffix(text: str | None) -> str:
    """What the optimizer has put behind the name, without the module that it was taken from."""
    return _LLVM.sub("", text or "")


def _legacy(text: str) -> str | None:
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


class _Printer:
    """Reads a name from behind its prefix and writes what it means."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._steps = 0
        self._out: list[str] = []
        self._size = 0
        self._is_silent = False
        self._lifetimes = 0

    def symbol(self) -> str:
        self._path(True)
        if self._at < len(self._text):
            # The crate that instantiated it is read and not shown.
            self._is_silent = True
            self._path(False)
        if self._at < len(self._text):
            raise _UnknownError
        return "".join(self._out)

    def _write(self, text: str) -> None:
        if not self._is_silent:
            self._size += len(text)
            if self._size > _LONGEST:
                raise _UnknownError
            self._out.append(text)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        found = self._peek()
        if not found:
            raise _UnknownError
        self._at += 1
        return found

    def _eat(self, expected: str) -> bool:
        if self._peek() == expected:
            self._at += 1
            return True
        return False

    def _deeper(self, work: Callable[[], None]) -> None:
        self._depth += 1
        self._steps += 1
        if self._depth > _DEEPEST or self._steps > _MOST_STEPS:
            raise _UnknownError
        work()
        self._depth -= 1

    def _number(self) -> int:
        """In base 62, "_" alone is 0."""
        if self._eat("_"):
            return 0
        value = 0
        while not self._eat("_"):
            digit = _VALUE_OF.get(self._take())
            if digit is None or value >> 64:
                raise _UnknownError
            value = value * 62 + digit
        return value + 1

    def _optional_number(self, tag: str) -> int:
        return self._number() + 1 if self._eat(tag) else 0

    def _identifier(self) -> str:
        is_punycode = self._eat("u")
        start = self._at
        while self._peek().isdigit() and self._text[start] != "0":
            self._at += 1
        self._at += self._text[start : start + 1] == "0"
        digits = self._text[start : self._at]
        if not digits or len(digits) > 5:
            raise _UnknownError
        self._eat("_")
        end = self._at + int(digits)
        name = self._text[self._at : end]
        if end > len(self._text):
            raise _UnknownError
        self._at = end
        return _punycode(name) if is_punycode else name

    def _back(self, work: Callable[[], None]) -> None:
        start = self._at - 1
        target = self._number()
        if target >= start:
            raise _UnknownError
        if self._is_silent:
            return
        after, self._at = self._at, target
        self._deeper(work)
        self._at = after

    def _path(self, in_value: bool) -> None:
        self._deeper(lambda: self._path_of(self._take(), in_value))

    def _path_of(self, tag: str, in_value: bool) -> None:
        if tag == "C":
            self._optional_number("s")
            self._write(self._identifier())
        elif tag == "N":
            self._nested(in_value)
        elif tag in "MXY":
            if tag != "Y":
                self._optional_number("s")
                self._silently(lambda: self._path(in_value))
            self._write("<")
            self._type()
            if tag != "M":
                self._write(" as ")
                self._path(False)
            self._write(">")
        elif tag == "I":
            self._path(in_value)
            if in_value:
                self._write("::")
            self._write("<")
            self._list(self._generic_argument)
            self._write(">")
        elif tag == "B":
            self._back(lambda: self._path(in_value))
        else:
            raise _UnknownError

    def _silently(self, work: Callable[[], None]) -> None:
        before, self._is_silent = self._is_silent, True
        work()
        self._is_silent = before

    def _nested(self, in_value: bool) -> None:
        namespace = self._take()
        if not namespace.isalpha():
            raise _UnknownError
        self._path(in_value)
        disambiguator = self._optional_number("s")
        name = self._identifier()
        if namespace.isupper():
            kind = {"C": "closure", "S": "shim"}.get(namespace, namespace)
            self._write("::{" + kind + (":" + name if name else "") + f"#{disambiguator}}}")
        elif name:
            self._write("::" + name)

    def _list(self, work: Callable[[], None], separator: str = ", ") -> int:
        count = 0
        while not self._eat("E"):
            if count:
                self._write(separator)
            work()
            count += 1
        return count

    def _generic_argument(self) -> None:
        if self._eat("L"):
            self._lifetime(self._number())
        elif self._eat("K"):
            self._constant(False)
        else:
            self._type()

    def _lifetime(self, number: int) -> None:
        if not number:
            self._write("'_")
            return
        depth = self._lifetimes - number
        if depth < 0 and not self._is_silent:
            raise _UnknownError
        self._write("'" + chr(97 + depth) if 0 <= depth < 26 else f"'_{depth}")

    def _type(self) -> None:
        self._deeper(self._type_of)

    def _type_of(self) -> None:
        tag = self._take()
        if tag in _BASIC:
            self._write(_BASIC[tag])
        elif tag in "RQ":
            self._reference("" if tag == "R" else "mut ")
        elif tag in "PO":
            self._write("*const " if tag == "P" else "*mut ")
            self._type()
        elif tag in "AS":
            self._write("[")
            self._type()
            if tag == "A":
                self._write("; ")
                self._constant(True)
            self._write("]")
        elif tag == "T":
            self._write("(")
            self._write(",)" if self._list(self._type) == 1 else ")")
        elif tag == "F":
            self._with_lifetimes(self._function)
        elif tag == "D":
            self._write("dyn ")
            self._with_lifetimes(lambda: self._bounds())
            if not self._eat("L"):
                raise _UnknownError
            lifetime = self._number()
            if lifetime:
                self._write(" + ")
                self._lifetime(lifetime)
        elif tag == "B":
            self._back(self._type)
        else:
            self._at -= 1
            self._path(False)

    def _reference(self, mutable: str) -> None:
        self._write("&")
        if self._eat("L"):
            lifetime = self._number()
            if lifetime:
                self._lifetime(lifetime)
                self._write(" ")
        self._write(mutable)
        self._type()

    def _with_lifetimes(self, work: Callable[[], None]) -> None:
        count = self._optional_number("G")
        if count > _DEEPEST:
            raise _UnknownError
        if count:
            self._write("for<")
            for index in range(count):
                self._write(", " if index else "")
                self._lifetimes += 1
                self._lifetime(1)
            self._write("> ")
        work()
        self._lifetimes -= count

    def _function(self) -> None:
        if self._eat("U"):
            self._write("unsafe ")
        if self._eat("K"):
            abi = "C" if self._eat("C") else self._identifier().replace("_", "-")
            self._write(f'extern "{abi}" ')
        self._write("fn(")
        self._list(self._type)
        self._write(")")
        if not self._eat("u"):
            self._write(" -> ")
            self._type()

    def _bounds(self) -> None:
        self._list(self._bound, " + ")

    def _bound(self) -> None:
        is_open = self._open_path()
        while self._eat("p"):
            self._write(", " if is_open else "<")
            is_open = True
            self._write(self._identifier() + " = ")
            self._type()
        if is_open:
            self._write(">")

    def _open_path(self) -> bool:
        """A path whose list of arguments, if it has one, is left open; whether it has."""
        if self._eat("B"):
            found: list[bool] = []
            self._back(lambda: found.append(self._open_path()))
            return bool(found and found[0])
        if self._eat("I"):
            self._path(False)
            self._write("<")
            self._list(self._generic_argument)
            return True
        self._path(False)
        return False

    def _constant(self, in_value: bool) -> None:
        self._deeper(lambda: self._constant_of(self._take(), in_value))

    def _constant_of(self, tag: str, in_value: bool) -> None:
        if tag == "p":
            self._write("_")
        elif tag in _UNSIGNED:
            self._integer()
        elif tag in _SIGNED:
            if self._eat("n"):
                self._write("-")
            self._integer()
        elif tag == "b":
            self._write({"0": "false", "1": "true"}.get(self._hexadecimal(), "?"))
        elif tag == "c":
            self._character()
        elif tag == "B":
            self._back(lambda: self._constant(in_value))
        else:
            self._structured(tag, in_value)

    def _structured(self, tag: str, in_value: bool) -> None:
        """Values of types that only the unstable feature adt_const_params allows; braces where they are arguments."""
        needs_braces = not in_value
        if tag == "R" and self._eat("e"):
            self._string()
            return
        self._write("{" if needs_braces else "")
        if tag == "e":
            self._write("*")
            self._string()
        elif tag in "RQ":
            self._write("&" if tag == "R" else "&mut ")
            self._constant(True)
        elif tag == "A":
            self._write("[")
            self._list(lambda: self._constant(True))
            self._write("]")
        elif tag == "T":
            self._write("(")
            self._write(",)" if self._list(lambda: self._constant(True)) == 1 else ")")
        elif tag == "V":
            self._variant()
        else:
            raise _UnknownError
        self._write("}" if needs_braces else "")

    def _variant(self) -> None:
        self._path(True)
        kind = self._take()
        if kind == "T":
            self._write("(")
            self._list(lambda: self._constant(True))
            self._write(")")
        elif kind == "S":
            self._write(" { ")
            self._list(self._field)
            self._write(" }")
        elif kind != "U":
            raise _UnknownError

    def _field(self) -> None:
        self._optional_number("s")
        self._write(self._identifier() + ": ")
        self._constant(True)

    def _hexadecimal(self) -> str:
        end = self._text.find("_", self._at)
        digits = self._text[self._at : end]
        if end < 0 or any(digit not in "0123456789abcdef" for digit in digits):
            raise _UnknownError
        self._at = end + 1
        return digits.lstrip("0") or "0"

    def _integer(self) -> None:
        digits = self._hexadecimal()
        self._write(str(int(digits, 16)) if len(digits) <= 16 else "0x" + digits)

    def _character(self) -> None:
        digits = self._hexadecimal()
        value = int(digits, 16) if len(digits) <= 6 else 0x110000
        if value >= 0x110000 or 0xD800 <= value < 0xE000:
            raise _UnknownError
        self._write(_quoted(chr(value), "'"))

    def _string(self) -> None:
        end = self._text.find("_", self._at)
        try:
            text = bytes.fromhex(self._text[self._at : max(end, self._at)]).decode()
        except ValueError:
            raise _UnknownError from None
        if end < 0:
            raise _UnknownError
        self._at = end + 1
        self._write(_quoted(text, '"'))


def _quoted(text: str, quote: str) -> str:
    special = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "\0": "\\0", quote: "\\" + quote}
    shown = (special.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}") for c in text)
    return quote + "".join(shown) + quote


def _punycode(name: str) -> str:
    basic, separator, rest = name.rpartition("_")
    try:
        found = ((basic + "-" if separator else "") + rest).encode().decode("punycode")
    except (UnicodeError, ValueError, OverflowError):
        raise _UnknownError from None
    if not found.isprintable():
        raise _UnknownError
    return found
