"""The building blocks of compiled text: formats for Python's bytes % and the expressions of their arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sonde.consume.generated import GeneratedExpression, code, constant, tuple_of
from sonde.model.conversions import MOST_COLUMNS, Conversion
from sonde.model.records import LITERAL, Field
from sonde.report import dates, hexdump
from sonde.report import escape as report_escape
from sonde.report.escaping import Escaping, escaped_by, mappings
from sonde.report.number import as_real, c_integer, wide_character
from sonde.report.stack import Addresses
from sonde.typed import Any, NamedTuple
from sonde.visible import visible_lines


class FormatPiece(NamedTuple):
    """A part of a %-format and, for what it takes, expressions over the record's values."""

    format: bytes
    arguments: tuple[GeneratedExpression, ...] = ()


class ConversionArgument(NamedTuple):
    """A value that a conversion may take: the expression for it, and what it is.

    `kind`, `size`, `signed` and `detail` are those of `spec.Field`; further kinds are `number`, the result of an
    aggregating function, and `text`, bytes that are formatted already.
    """

    source: GeneratedExpression
    kind: str
    size: int = 8
    signed: bool = False
    detail: str = ""


def field_argument(field: Field, source: GeneratedExpression) -> ConversionArgument:
    return ConversionArgument(source, field.kind, field.size, field.signed, field.detail)


def literal(text: str, is_foreign: bool = False) -> FormatPiece:
    """Text that contains no conversion; `is_foreign`: of a program from outside, which keeps its lines but no more."""
    characters = visible_lines(text) if is_foreign else text
    return FormatPiece(characters.encode(errors="surrogateescape").replace(b"%", b"%%"))


def shown_value(argument: ConversionArgument, source: GeneratedExpression, escaping: Escaping) -> GeneratedExpression:
    """The expression of the characters `source` of a value, as a format of the program shows them."""
    return escaped_by(escaping.program if argument.detail == LITERAL else escaping.values, source)


def formatting(pieces: Iterable[FormatPiece]) -> GeneratedExpression:
    """The expression that formats all pieces one behind the other into bytes."""
    whole = list(pieces)
    arguments = [argument for piece in whole for argument in piece.arguments]
    template = b"".join([piece.format for piece in whole])
    if template == b"%s" and len(arguments) == 1:
        return arguments[0]
    return code("{} % {}", constant(template), tuple_of(arguments))


def environment(addresses: Addresses) -> dict[str, Any]:
    """The functions that the arguments' expressions may call."""
    return {
        "as_real": as_real,
        "c_integer": c_integer,
        "columns": columns,
        "date_and_time": lambda nanoseconds: dates.date_and_time(nanoseconds),
        "dump": _dump,
        "dump_or_text": dump_or_text,
        "escaped_in_octal": lambda characters: report_escape.escaped_in_octal(characters),
        "full_date": lambda nanoseconds: dates.full_date(nanoseconds),
        "kernel": addresses.kernel,
        "kernel_stack": addresses.kernel_stack,
        "limited": limited_dump,
        "user": addresses.user,
        "user_stack": addresses.user_stack,
        "wide": wide_character,
        **mappings(),
    }


# Most programs show neither dates nor dumps nor escapes, and are not to wait for their modules.


def _dump(data: bytes) -> bytes:
    return hexdump.hexdump(data)


def columns(number: int) -> int:
    """A width or precision from a record, as far as it is one."""
    return max(-MOST_COLUMNS, min(number, MOST_COLUMNS))


def limited_dump(data: bytes, size: int) -> bytes:
    """The dump of the first `size` bytes, of all if `size` is negative; nothing if it is 0."""
    return _dump(data if size < 0 else data[:size]) if size else b""


def dump_or_text(data: bytes, escape: Mapping[bytes, bytes] | None = None) -> bytes:
    """A key of raw bytes: as a string if it looks like one, escaped by `escape`."""
    if not hexdump.is_printable(data):
        return hexdump.hexdump(data)
    text = data.rstrip(b"\0")
    return b"  %-50b" % (text if escape is None else escape[text])


def is_dynamic(conversion: Conversion) -> bool:
    return conversion.width == "*" or conversion.precision == "*"
