"""printf's conversions, turned into pieces once for each record layout.

Where Python's bytes % does the same as C, the conversion becomes part of the format; where not, its argument is an
expression that calls a function. Width 0 and precisions below 1 count as absent, dynamic ones too: DTrace's rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from sonde.consume.generated import GeneratedExpression, code, constant
from sonde.model.conversions import Conversion
from sonde.report.escaping import Escaping
from sonde.report.kinds import next_of, numeric, of_kind
from sonde.report.piece import ConversionArgument, FormatPiece, is_dynamic, literal, shown_value

_MASKS = {1: 0xFF, 2: 0xFFFF, 4: 0xFFFFFFFF, 8: 0xFFFFFFFFFFFFFFFF, 16: (1 << 128) - 1}
_POINTER_WIDTH = 16
_NAMES = ("symbol", "user_symbol")
_REALS = (2, 4, 8, 10, 12, 16)
"""Bytes of a floating-point number."""
_UNLIMITED = 1 << 30
"""Stands for no precision where a dynamic one turns out to be none."""

Take = Callable[[], ConversionArgument]


def printf_pieces(
    conversions: Iterable[Conversion],
    arguments: Iterator[ConversionArgument],
    escaping: Escaping,
    aggregated: Take | None = None,
) -> list[FormatPiece]:
    """The pieces of a whole format. `aggregated` gives the next aggregation's value, for conversions with flag @."""

    def next_argument() -> ConversionArgument:
        return next_of(arguments)

    pieces = []
    for conversion in conversions:
        if conversion.text:
            pieces.append(literal(conversion.text, bool(escaping.program)))
        if conversion.letters == "%":
            pieces.append(literal("%"))
        elif conversion.letters:
            take = aggregated if aggregated is not None and "@" in conversion.flags else next_argument
            pieces.append(_convert(conversion, next_argument, take, escaping))
    return pieces


class _Size:
    """Width and precision of one conversion: numbers, or the expressions of their arguments."""

    def __init__(self, conversion: Conversion, take: Take) -> None:
        self.width = self._static(conversion.width, take)
        self.precision = self._static(conversion.precision, take)
        if "?" in conversion.flags and not self.width:
            self.width = _POINTER_WIDTH
        if isinstance(self.precision, int) and self.precision < 1:
            self.precision = 0

    @staticmethod
    def _static(value: int | str | None, take: Take) -> int | GeneratedExpression:
        if value == "*":
            # What is traced may have chosen it.
            return code("columns({})", _number(take()))
        return int(value or 0)

    def apply(self, flags: str, letter: str, source: GeneratedExpression, absent: int) -> FormatPiece:
        """The piece %<flags><width>.<precision><letter>; `absent` is the precision that changes nothing."""
        arguments = []
        text = "%" + flags
        if isinstance(self.width, GeneratedExpression):
            text += "*"
            arguments.append(self.width)
        elif self.width:
            text += str(self.width)
        if isinstance(self.precision, GeneratedExpression):
            text += ".*"
            arguments.append(code("({} if {} > 0 else {})", self.precision, self.precision, constant(absent)))
        elif self.precision:
            text += f".{self.precision}"
        return FormatPiece((text + letter).encode(), (*arguments, source))

    def cut(self, source: GeneratedExpression) -> GeneratedExpression:
        """As many of the characters `source` as the precision lets through: it counts them as they are, not escaped."""
        if isinstance(self.precision, GeneratedExpression):
            return code("{}[:{} if {} > 0 else None]", source, self.precision, self.precision)
        return code("{}[:{}]", source, constant(self.precision)) if self.precision else source

    def only_width(self, flags: str, source: GeneratedExpression) -> FormatPiece:
        """The piece %<flags><width>s."""
        width = "" if not self.width else "*" if isinstance(self.width, GeneratedExpression) else str(self.width)
        arguments = (self.width,) if isinstance(self.width, GeneratedExpression) else ()
        return FormatPiece(f"%{flags}{width}s".encode(), (*arguments, source))


def _convert(conversion: Conversion, next_argument: Take, take: Take, escaping: Escaping) -> FormatPiece:
    """One conversion; width and precision come from the arguments before its own."""
    size = _Size(conversion, next_argument)
    argument = take()
    if argument.kind == "text":
        return FormatPiece(b"%s", (argument.source,))
    letter = conversion.letters[-1]
    if conversion.letters == "k":
        return _stack(size, argument)
    if letter in "diouxXp":
        return _integer(conversion, size, argument, letter)
    if letter in "eEfFgG":
        return size.apply(_kept(conversion.flags, "-0+ #"), letter, _real(argument), 6)
    if letter == "I":
        # An address stays as it is: nobody is asked for names of hosts.
        conversion = conversion._replace(letters="s")
    flags = _kept(conversion.flags, "-")
    if conversion.letters == "c" and not escaping.values:
        return size.apply(flags, "c", code("{} & 255", _number(argument)), _UNLIMITED)
    source = _text(conversion.letters, argument)
    if conversion.letters[-1] not in "cs" or argument.kind in _NAMES or not escaping.values:
        return size.apply(flags, "s", source, _UNLIMITED)
    return size.only_width(flags, shown_value(argument, size.cut(source), escaping))


def _kept(flags: str, wanted: str) -> str:
    return "".join(flag for flag in wanted if flag in flags)


def _number(argument: ConversionArgument) -> GeneratedExpression:
    """The expression of an argument as an integer."""
    match numeric(argument, "user_symbol", "bytes").kind:
        case "user_symbol":
            return code("{}[1]", argument.source)
        case "bytes":
            return code("int.from_bytes({}, 'little', signed={})", argument.source, constant(argument.signed))
        case _:
            return argument.source


def _integer(conversion: Conversion, size: _Size, argument: ConversionArgument, letter: str) -> FormatPiece:
    source, flags = _number(argument), conversion.flags
    letter = "x" if letter == "p" else "d" if letter == "i" else letter
    if letter == "d" and not argument.signed:
        letter = "u"
    if letter != "d" and argument.signed:
        source = code("({} & {})", source, constant(_MASKS.get(argument.size, _MASKS[8])))
    is_grouped = "'" in flags or "," in flags
    if is_grouped or ("#" in flags and letter in "oxX") or ("0" in flags and is_dynamic(conversion)):
        form = constant(letter), constant(flags), _expression(size.width), _expression(size.precision)
        return FormatPiece(b"%s", (code("c_integer({}, {}, {}, {}, {})", source, *form),))
    wanted = "-+ " if letter == "d" else "-"
    if not size.precision and "-" not in flags:
        wanted += "0"
    return size.apply(_kept(flags, wanted), "d" if letter == "u" else letter, source, 1)


def _expression(size: int | GeneratedExpression) -> GeneratedExpression:
    return size if isinstance(size, GeneratedExpression) else constant(size)


def _real(argument: ConversionArgument) -> GeneratedExpression:
    if argument.kind == "number":
        return code("float({})", argument.source)
    shown = of_kind(argument, "int", "bytes", sizes=_REALS)
    return code("as_real({}, {})", shown.source, constant(shown.size))


def _text(letters: str, argument: ConversionArgument) -> GeneratedExpression:
    """The expression of the bytes that a conversion to text shows."""
    match letters:
        case "a" | "A":
            return _address(letters, argument)
        case "Y":
            return code("date_and_time({})", _number(argument))
        case "T":
            return code("full_date({})", _number(argument))
        case "C":
            return code("escaped_in_octal(bytes([{} & 255]))", _number(argument))
        case "S":
            return code("escaped_in_octal({})", _string(argument))
        case "lc" | "wc":
            return code("wide({})", _number(argument))
        case "c":
            return code("bytes(({} & 255,))", _number(argument))
        case _:
            return _string(argument)


def _address(letters: str, argument: ConversionArgument) -> GeneratedExpression:
    """%a and %A; a bare user address says nothing of its process. A symbol has the parts that its function gives: a
    row of an aggregation stands for all addresses in it."""
    if argument.kind in ("user_symbol", "symbol"):
        return _string(argument)
    if letters == "A":
        return code("user((0, {}))", _number(argument))
    return code("kernel({})", _number(argument))


def _string(argument: ConversionArgument) -> GeneratedExpression:
    match argument.kind:
        case "bytes":
            return code("{}.partition(b'\\0')[0]", argument.source)
        case "symbol":
            return code("kernel({}, {})", argument.source, constant(argument.detail))
        case "user_symbol":
            return code("user({}, {})", argument.source, constant(argument.detail))
        case "int" | "number":
            return code("b'%d' % {}", argument.source)
        case _:
            return argument.source


def _stack(size: _Size, argument: ConversionArgument) -> FormatPiece:
    """%k: a stack; the width is its indentation."""
    indent = code("abs({})", _expression(size.width)) if size.width else constant(None)
    if of_kind(argument, "stack", "ustack").kind == "ustack":
        return FormatPiece(b"%s", (code("user_stack({}, {})", argument.source, indent),))
    most = constant(int(argument.detail or 0) or None)
    return FormatPiece(b"%s", (code("kernel_stack({}, {}, {})", argument.source, most, indent),))
