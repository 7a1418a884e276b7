"""What print() and f-strings record: a line of texts and values, each shown as its type asks for."""

from __future__ import annotations

from sonde.frontends.d.check import casts
from sonde.frontends.d.check.calls import call
from sonde.frontends.d.check.operands import Operand, TranslatorValue, value_of
from sonde.frontends.d.check.scope import Scope
from sonde.frontends.d.syntax import Expr
from sonde.frontends.python.check.numbers import whole
from sonde.frontends.python.errors import PythonError
from sonde.model import program as tree
from sonde.model.errors import Position
from sonde.model.kinds import is_array, is_integer, is_pointer, is_string, is_string_like, is_struct, spell
from sonde.model.types import INT, STACK, STRING, SYMADDR, TEXT, ULONG, USYMADDR, Type, is_signed, resolve
from sonde.typed import Node, NoReturn


class ShownPart(Node):
    """A value of a line, and how it is to be shown: `flags`, `width` and `precision` are printf's, `align` one of `<`,
    `>` and "", `letter` one of d, x, X, o, s, c and "". `quoted`: a text between quotes; `converted`: by `!s` or
    `!r`."""

    position: Position
    value: Expr
    flags: str = ""
    align: str = ""
    width: str = ""
    precision: str = ""
    letter: str = ""
    quoted: bool = False
    converted: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the value is shown as it is."""
        return not (self.flags or self.align or self.width or self.precision or self.letter)


class PrintedLine(Node):
    """`parts` are texts and values; `alone` is a value that is the whole line, if there is one."""

    position: Position
    parts: tuple[str | ShownPart, ...]
    alone: bool

    def checked(self, scope: Scope) -> Operand:
        text = ""
        values: list[Operand] = []
        for part in self.parts:
            if isinstance(part, str):
                text += part.replace("%", "%%")
                continue
            operand = scope.evaluate(part.value, scope)
            if self.alone and is_struct(operand.type) and not isinstance(operand, TranslatorValue):
                return call("print", (operand,), scope, self.position)
            form, value = _formed(part, operand, scope)
            text += form
            values.append(value)
        format_ = tree.StringConst(STRING, self.position, text.encode("utf-8", "surrogateescape"))
        return call("printf", (format_, *values), scope, self.position)


class Joined(Node):
    """An f-string that is a value: its parts joined, numbers in decimal digits."""

    position: Position
    parts: tuple[str | ShownPart, ...]

    def checked(self, scope: Scope) -> Operand:
        made: Operand | None = None
        for part in self.parts:
            operand = self._text(part, scope)
            made = operand if made is None else call("strjoin", (made, operand), scope, self.position)
        return made or tree.StringConst(STRING, self.position, b"")

    def _text(self, part: str | ShownPart, scope: Scope) -> Operand:
        if isinstance(part, str):
            return tree.StringConst(STRING, self.position, part.encode("utf-8", "surrogateescape"))
        if not part.is_plain or part.quoted:
            hint = "as a value an f-string has no formats: use them in print(), or leave them out"
            raise PythonError("this f-string is a value, not a record", part.position, hint)
        operand = whole(scope.evaluate(part.value, scope))
        if is_string_like(operand.type):
            return casts.stringof(operand, part.position)
        if is_integer(operand.type):
            return call("lltostr", (operand,), scope, part.position)
        return _refused(operand.type, part.position)


_OPAQUE: dict[Type, str] = {STACK: "k", SYMADDR: "a", USYMADDR: "A", TEXT: "s"}


def _formed(part: ShownPart, operand: Operand, scope: Scope) -> tuple[str, Operand]:
    """The conversion of printf's for a value, and the value as it takes it."""
    base = resolve(operand.type)
    if base in _OPAQUE:
        return f"%{'-' * (part.align == '<')}{part.width}{_OPAQUE[base]}", operand
    if is_integer(operand.type):
        return _number(part, operand)
    if is_string(operand.type) or (is_string_like(operand.type) and part.letter in ("", "s")):
        return _text(part, operand)
    if is_pointer(operand.type) or is_array(operand.type):
        address = casts.cast(ULONG, operand, part.position)
        return _number(part._replace(letter="x", flags=f"#{part.flags}") if not part.letter else part, address)
    return _refused(operand.type, part.position)


def _number(part: ShownPart, operand: Operand) -> tuple[str, Operand]:
    _require_of_python(part)
    value = casts.cast(INT, operand, part.position) if part.letter == "c" else whole(operand)
    letter, flags, width, before = part.letter or "d", part.flags, part.width, ""
    if letter == "d" and not is_signed(value.type):
        letter = "u"
    if "#" in flags and letter in "xX":
        # Also of 0, which C's printf() shows without.
        flags, before = flags.replace("#", ""), f"0{letter}"
        width = str(max(int(width) - len(before), 0) or "") if width else ""
    return f"{before}%{'-' * (part.align == '<')}{flags}{width}{letter}", value


_FOR_NUMBERS = "{n:8d} is for numbers"


def _require_of_python(part: ShownPart) -> None:
    """Raises PythonError for a format of a number that Python does not have, or whose meaning is another one in C."""
    digits, is_left = part.letter in ("x", "X", "o"), part.align == "<"
    mistakes = (
        (part.letter == "s" or part.precision, "this is a number, and the format is one for texts", _FOR_NUMBERS),
        (part.converted and not part.is_plain, "!s and !r make a text of a number", "leave them out, or the format"),
        ("0" in part.flags and part.align, "zeros stand before a number, whatever its place", "{n:08d} or {n:<8d}"),
        ("," in part.flags and ("0" in part.flags or digits), "commas are for decimal numbers", "{n:,} or {n:12,}"),
        (digits and ("+" in part.flags or " " in part.flags), "signs are for decimal numbers", "{n:+d}"),
        (
            part.letter in ("x", "X") and "#" in part.flags and part.width and "0" not in part.flags and not is_left,
            "0x stands at the left of a place", "{n:<#10x} or {n:#010x}",
        ),
        (part.letter == "o" and "#" in part.flags, "octal numbers have no 0o in a probe", "write it before: 0o{n:o}"),
        (part.letter == "c" and part.flags, "a letter has no sign and no digits", "{n:c} or {n:4c}"),
    )  # fmt: skip
    for is_one, told, hint in mistakes:
        if is_one:
            raise PythonError(told, part.position, hint)


def _text(part: ShownPart, operand: Operand) -> tuple[str, Operand]:
    if part.flags or part.letter not in ("", "s"):
        raise PythonError("this is a text, and the format is one for numbers", part.position, "{s:<8} is for texts")
    if part.quoted and not part.is_plain:
        raise PythonError("a text between quotes is shown whole", part.position, "leave !r out, or the format")
    if part.precision.strip("0") == "" != part.precision:
        raise PythonError("this shows nothing of the text", part.position, "{s:.5} shows five bytes")
    precision = f".{part.precision}" if part.precision else ""
    form = f"%{'-' * (part.align != '>' and part.width != '')}{part.width}{precision}s"
    value = value_of(operand)
    return f"'{form}'" if part.quoted else form, casts.stringof(value, part.position)


def _refused(kind: Type, position: Position) -> NoReturn:
    hint = "a structure is recorded by a print() of its own, or show its members"
    raise PythonError(f"a value of type {spell(kind)} cannot be a part of a text", position, hint)
