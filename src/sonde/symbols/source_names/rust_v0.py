"""Rust's scheme v0 of symbol names (RFC 2603, "Rust Symbol Name Mangling v0"), as the source has them.

Names may be hostile: depth, length and steps are bounded.
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.symbols.source_names.rust_mangled import MangledText, UnknownNameError

LONGEST = 4096
"""Characters, of what is read and of what is written."""

_DEEPEST = 150
_MOST_STEPS = 20_000

_BASIC = {
    "a": "i8", "b": "bool", "c": "char", "d": "f64", "e": "str", "f": "f32", "h": "u8", "i": "isize", "j": "usize",
    "l": "i32", "m": "u32", "n": "i128", "o": "u128", "s": "i16", "t": "u16", "u": "()", "v": "...", "x": "i64",
    "y": "u64", "z": "!", "p": "_",
}  # fmt: skip
_SIGNED, _UNSIGNED = "aslxni", "htmyoj"


class Printer:
    """Reads a name from behind its prefix and writes what it means."""

    def __init__(self, text: str) -> None:
        self._name = MangledText(text)
        self._depth = 0
        self._steps = 0
        self._out: list[str] = []
        self._size = 0
        self._is_silent = False
        self._lifetimes = 0

    def symbol(self) -> str:
        self._path(True)
        if not self._name.is_over:
            # The crate that instantiated it is read and not shown.
            self._is_silent = True
            self._path(False)
        if not self._name.is_over:
            raise UnknownNameError
        return "".join(self._out)

    def _write(self, text: str) -> None:
        if not self._is_silent:
            self._size += len(text)
            if self._size > LONGEST:
                raise UnknownNameError
            self._out.append(text)

    def _deeper(self, work: Callable[[], None]) -> None:
        self._depth += 1
        self._steps += 1
        if self._depth > _DEEPEST or self._steps > _MOST_STEPS:
            raise UnknownNameError
        work()
        self._depth -= 1

    def _back(self, work: Callable[[], None]) -> None:
        start = self._name.at - 1
        target = self._name.number()
        if target >= start:
            raise UnknownNameError
        if self._is_silent:
            return
        after, self._name.at = self._name.at, target
        self._deeper(work)
        self._name.at = after

    def _path(self, in_value: bool) -> None:
        self._deeper(lambda: self._path_of(self._name.take(), in_value))

    def _path_of(self, tag: str, in_value: bool) -> None:
        if tag == "C":
            self._name.optional_number("s")
            self._write(self._name.identifier())
        elif tag == "N":
            self._nested(in_value)
        elif tag in "MXY":
            if tag != "Y":
                self._name.optional_number("s")
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
            raise UnknownNameError

    def _silently(self, work: Callable[[], None]) -> None:
        before, self._is_silent = self._is_silent, True
        work()
        self._is_silent = before

    def _nested(self, in_value: bool) -> None:
        namespace = self._name.take()
        if not namespace.isalpha():
            raise UnknownNameError
        self._path(in_value)
        disambiguator = self._name.optional_number("s")
        name = self._name.identifier()
        if namespace.isupper():
            kind = {"C": "closure", "S": "shim"}.get(namespace, namespace)
            self._write("::{" + kind + (":" + name if name else "") + f"#{disambiguator}}}")
        elif name:
            self._write("::" + name)

    def _list(self, work: Callable[[], None], separator: str = ", ") -> int:
        count = 0
        while not self._name.eat("E"):
            if count:
                self._write(separator)
            work()
            count += 1
        return count

    def _generic_argument(self) -> None:
        if self._name.eat("L"):
            self._lifetime(self._name.number())
        elif self._name.eat("K"):
            self._constant(False)
        else:
            self._type()

    def _lifetime(self, number: int) -> None:
        if not number:
            self._write("'_")
            return
        depth = self._lifetimes - number
        if depth < 0 and not self._is_silent:
            raise UnknownNameError
        self._write("'" + chr(97 + depth) if 0 <= depth < 26 else f"'_{depth}")

    def _type(self) -> None:
        self._deeper(self._type_of)

    def _type_of(self) -> None:
        tag = self._name.take()
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
            if not self._name.eat("L"):
                raise UnknownNameError
            lifetime = self._name.number()
            if lifetime:
                self._write(" + ")
                self._lifetime(lifetime)
        elif tag == "B":
            self._back(self._type)
        else:
            self._name.at -= 1
            self._path(False)

    def _reference(self, mutable: str) -> None:
        self._write("&")
        if self._name.eat("L"):
            lifetime = self._name.number()
            if lifetime:
                self._lifetime(lifetime)
                self._write(" ")
        self._write(mutable)
        self._type()

    def _with_lifetimes(self, work: Callable[[], None]) -> None:
        count = self._name.optional_number("G")
        if count > _DEEPEST:
            raise UnknownNameError
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
        if self._name.eat("U"):
            self._write("unsafe ")
        if self._name.eat("K"):
            abi = "C" if self._name.eat("C") else self._name.identifier().replace("_", "-")
            self._write(f'extern "{abi}" ')
        self._write("fn(")
        self._list(self._type)
        self._write(")")
        if not self._name.eat("u"):
            self._write(" -> ")
            self._type()

    def _bounds(self) -> None:
        self._list(self._bound, " + ")

    def _bound(self) -> None:
        is_open = self._open_path()
        while self._name.eat("p"):
            self._write(", " if is_open else "<")
            is_open = True
            self._write(self._name.identifier() + " = ")
            self._type()
        if is_open:
            self._write(">")

    def _open_path(self) -> bool:
        """A path whose list of arguments, if it has one, is left open; whether it has."""
        if self._name.eat("B"):
            found: list[bool] = []
            self._back(lambda: found.append(self._open_path()))
            return bool(found and found[0])
        if self._name.eat("I"):
            self._path(False)
            self._write("<")
            self._list(self._generic_argument)
            return True
        self._path(False)
        return False

    def _constant(self, in_value: bool) -> None:
        self._deeper(lambda: self._constant_of(self._name.take(), in_value))

    def _constant_of(self, tag: str, in_value: bool) -> None:
        if tag == "p":
            self._write("_")
        elif tag in _UNSIGNED:
            self._integer()
        elif tag in _SIGNED:
            if self._name.eat("n"):
                self._write("-")
            self._integer()
        elif tag == "b":
            self._write({"0": "false", "1": "true"}.get(self._name.hexadecimal(), "?"))
        elif tag == "c":
            self._character()
        elif tag == "B":
            self._back(lambda: self._constant(in_value))
        else:
            self._structured(tag, in_value)

    def _structured(self, tag: str, in_value: bool) -> None:
        """Values of types that only the unstable feature adt_const_params allows; braces where they are arguments."""
        needs_braces = not in_value
        if tag == "R" and self._name.eat("e"):
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
            raise UnknownNameError
        self._write("}" if needs_braces else "")

    def _variant(self) -> None:
        self._path(True)
        kind = self._name.take()
        if kind == "T":
            self._write("(")
            self._list(lambda: self._constant(True))
            self._write(")")
        elif kind == "S":
            self._write(" { ")
            self._list(self._field)
            self._write(" }")
        elif kind != "U":
            raise UnknownNameError

    def _field(self) -> None:
        self._name.optional_number("s")
        self._write(self._name.identifier() + ": ")
        self._constant(True)

    def _integer(self) -> None:
        digits = self._name.hexadecimal()
        self._write(str(int(digits, 16)) if len(digits) <= 16 else "0x" + digits)

    def _character(self) -> None:
        digits = self._name.hexadecimal()
        value = int(digits, 16) if len(digits) <= 6 else 0x110000
        if value >= 0x110000 or 0xD800 <= value < 0xE000:
            raise UnknownNameError
        self._write(_quoted(chr(value), "'"))

    def _string(self) -> None:
        self._write(_quoted(self._name.string(), '"'))


def _quoted(text: str, quote: str) -> str:
    special = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "\0": "\\0", quote: "\\" + quote}
    shown = (special.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}") for c in text)
    return quote + "".join(shown) + quote
