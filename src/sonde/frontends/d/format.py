"""Formats of printf, printa, system and freopen: text -> conversions."""

from __future__ import annotations

from sonde.frontends.d.errors import DError
from sonde.model.conversions import MOST_WRITTEN, Conversion
from sonde.model.errors import Position
from sonde.typed import NoReturn

_FLAGS = "#-+ ',?@"
_MODIFIERS = "hlLw"
_LETTER_LIST = (
    "a A c C d e E f g G hd hi ho hu hx hX i I k lc ld li lo ls lu lx lX lld lli llo llu llx llX Le LE Lf Lg LG o p "
    "s S T u wc ws x X Y"
)
_LETTERS = frozenset(_LETTER_LIST.split())


def parse_format(format: str | bytes, action: str, position: Position | None = None) -> tuple[Conversion, ...]:
    """The conversions of a format, in order; literal text after the last is one more, without letters.

    `%%` becomes part of the literal text. `action` is the name that the message about an empty format shows.
    """
    text = format.decode("utf-8", "surrogateescape") if isinstance(format, bytes) else format
    text = text.partition("\0")[0]
    if not text:
        raise DError("D_PRINTF_FMT_EMPTY", f"{action}( ) format string is empty", position)
    conversions: list[Conversion] = []
    literal = ""
    start = number = 0
    while (percent := text.find("%", start)) >= 0:
        number += 1
        literal += text[start:percent]
        reader = _Reader(text, percent, number, position)
        conversion = reader.read()
        start = reader.offset
        if conversion is None:
            literal += "%"
        else:
            conversions.append(conversion._replace(text=literal))
            literal = ""
    literal += text[start:]
    if literal:
        conversions.append(Conversion(literal, offset=len(text)))
    return tuple(conversions)


class _Reader:
    """Reads one conversion; afterwards `offset` is where the format goes on."""

    def __init__(self, text: str, percent: int, number: int, position: Position | None) -> None:
        self.offset = percent + 1
        self._text = text
        self._percent = percent
        self._number = number
        self._position = position
        self._flags = ""
        # Width and precision, and which of them is being read.
        self._sizes: list[int | str | None] = [None, None]
        self._in_precision = False

    def read(self) -> Conversion | None:
        """The conversion, its text left empty; None for `%%`."""
        while True:
            character = self._text[self.offset : self.offset + 1]
            if not character:
                self._fail("name expected before end of format string")
            if character in _FLAGS or (character == "0" and self._sizes[0] is None and not self._in_precision):
                self._flags += "" if character in self._flags else character
                self.offset += 1
            elif "0" <= character <= "9":
                self._size()
            elif character == ".":
                self._point()
            elif character == "*":
                self._star()
            elif character == "$":
                self._fail("uses unsupported positional format (%n$)")
            else:
                return self._name(character)

    def _size(self) -> None:
        start = self.offset
        while "0" <= self._text[self.offset : self.offset + 1] <= "9":
            self.offset += 1
        if self._sizes[self._in_precision] == "*" and not self._text.startswith("$", self.offset):
            self._fail(f"is undefined: {self._text[self._percent : self.offset]}")
        digits = self._text[start : self.offset].lstrip("0")
        if len(digits) > len(str(MOST_WRITTEN)) or int(digits or "0") > MOST_WRITTEN:
            which = "precision" if self._in_precision else "width"
            self._fail(f"has a {which} of more than {MOST_WRITTEN}: {self._text[self._percent : self.offset][:20]}")
        self._sizes[self._in_precision] = int(digits or "0")

    def _point(self) -> None:
        if self._in_precision:
            self._fail("has more than one '.' specified")
        self._in_precision = True
        self._sizes[1] = 0
        self.offset += 1

    def _star(self) -> None:
        if self._sizes[self._in_precision] == "*":
            which = "precision" if self._in_precision else "width"
            self._fail(f"has more than one '*' specified for the output {which}")
        self._sizes[self._in_precision] = "*"
        self.offset += 1

    def _name(self, character: str) -> Conversion | None:
        start = self.offset
        if character == "%":
            if start != self._percent + 1:
                self._fail("cannot be combined with other format flags: %%")
            self.offset += 1
            return None
        while self._text[self.offset : self.offset + 1] in tuple(_MODIFIERS):
            self.offset += 1
        self.offset += 1
        letters = self._text[start : self.offset]
        if letters[-1] in _MODIFIERS:
            self._fail("name expected before end of format string")
        if letters not in _LETTERS:
            self._fail(f"is undefined: %{letters}")
        return Conversion("", self._flags, self._sizes[0], self._sizes[1], letters, self._percent)

    def _fail(self, what: str) -> NoReturn:
        raise DError("D_SYNTAX", f"format conversion #{self._number} {what}", self._position)
