"""Conversions of printf(), turned into pieces once for each record layout: as C has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sonde.consume.generated import GeneratedExpression, code, constant
from sonde.formats.damage import DamagedError
from sonde.frontends.bpftrace.object_names import OBJECTS
from sonde.model.conversions import Conversion
from sonde.model.records import LITERAL, TYPED, Field
from sonde.report.escaping import Escaping, escaped_by, keeping_lines
from sonde.report.kinds import next_of, numeric, of_kind, require_as_many
from sonde.report.piece import ConversionArgument, FormatPiece, is_dynamic, literal

_BYTES = {"": 4, "hh": 1, "h": 2}
"""Of an integer, by its modifier; others have eight."""


def printf_pieces(
    conversions: Iterable[Conversion], arguments: Iterator[ConversionArgument], escaping: Escaping
) -> list[FormatPiece]:
    """The pieces of a whole format."""
    pieces = []
    for conversion in conversions:
        if conversion.text:
            pieces.append(literal(conversion.text, bool(escaping.program)))
        if conversion.letters:
            pieces.append(_convert(conversion, next_of(arguments), escaping))
    return pieces


def _convert(conversion: Conversion, argument: ConversionArgument, escaping: Escaping) -> FormatPiece:
    letter = conversion.letters[-1]
    if is_dynamic(conversion) or int(conversion.precision or 0) < 0:
        raise DamagedError("it is damaged: a format has a width or precision that the language does not know")
    if conversion.letters in ("r", "rx", "rh"):
        buffer = of_kind(argument, "bytes").source
        return _sized(conversion, code("buffer_text({}, {})", constant(conversion.letters), buffer))
    if letter == "s" or conversion.letters == "gr":
        return _characters(conversion, argument, escaping)
    if letter == "c":
        return _sized(conversion, escaped_by(escaping.values, code("bytes(({} & 255,))", numeric(argument).source)))
    if letter == "p":
        # A zero has no base before it, as streams of C++ show it.
        whole = (1 << 64) - 1
        numeric(argument)
        return _sized(
            conversion, code("b'0x%x' % ({} & {}) if {} else b'0'", argument.source, constant(whole), argument.source)
        )
    return _integer(conversion, letter, argument)


def _characters(conversion: Conversion, argument: ConversionArgument, escaping: Escaping) -> FormatPiece:
    """A text. A precision counts its characters as they are, not escaped."""
    mapping = escaping.program if argument.detail == LITERAL else escaping.values
    source = _text(argument)
    if _has_own_form(argument):
        return _sized(conversion, escaped_by(keeping_lines(mapping), source))
    if not mapping:
        return _sized(conversion, source)
    if conversion.precision is not None:
        source = code("{}[:{}]", source, constant(int(conversion.precision)))
    return _sized(conversion._replace(precision=None), escaped_by(mapping, source))


def _sized(conversion: Conversion, source: GeneratedExpression) -> FormatPiece:
    """Characters, with the width and precision of the conversion."""
    flags = "-" if "-" in conversion.flags else ""
    width = str(conversion.width or "")
    precision = f".{conversion.precision}" if conversion.precision is not None else ""
    return FormatPiece(f"%{flags}{width}{precision}s".encode(), (source,))


def _integer(conversion: Conversion, letter: str, argument: ConversionArgument) -> FormatPiece:
    size, is_signed = _wanted(conversion)
    source = numeric(argument).source
    if not _holds(size, is_signed, argument.size, argument.signed):
        source = _cut(source, size, is_signed)
    flags = "".join(flag for flag in "-+ #0" if flag in conversion.flags)
    if letter in "oxX" and "#" in flags:
        form = constant(letter), constant(flags), constant(conversion.width or 0), constant(conversion.precision or 0)
        return FormatPiece(b"%s", (code("c_integer({}, {}, {}, {}, {})", source, *form),))
    width = str(conversion.width or "")
    precision = f".{conversion.precision}" if conversion.precision is not None else ""
    shown = letter if letter in "oxX" else "d"
    return FormatPiece(f"%{flags.replace('#', '')}{width}{precision}{shown}".encode(), (source,))


def _wanted(conversion: Conversion) -> tuple[int, bool]:
    """Bytes and sign of the integer that the conversion shows."""
    return _BYTES.get(conversion.letters[:-1], 8), conversion.letters[-1] in ("d", "i")


def _holds(size: int, is_signed: bool, other: int, other_signed: bool) -> bool:
    """Whether an integer of `size` bytes has all values of another."""
    return (size == other and is_signed == other_signed) or (size > other and (is_signed or not other_signed))


def as_shown(conversions: Iterable[Conversion], fields: Sequence[Field]) -> tuple[Field, ...]:
    """The fields of a format, integers read as it shows them: their lowest bytes, with the sign that is wanted. Values
    come so without arithmetic. A field that is shown in two ways is read as it is."""
    readings: dict[int, set[Field]] = {}
    wanted = []
    shown = [each for each in conversions if each.letters]
    require_as_many(shown, fields)
    for conversion, field in zip(shown, fields, strict=True):
        wanted.append(_read_as(conversion, field))
        readings.setdefault(field.offset, set()).add(wanted[-1])
    return tuple(
        read if len(readings[field.offset]) == 1 else field for field, read in zip(fields, wanted, strict=True)
    )


def _read_as(conversion: Conversion, field: Field) -> Field:
    """Processors are little-endian, so the lowest bytes come first."""
    size, is_signed = _wanted(conversion)
    is_number = conversion.letters[-1] in "diuoxX"
    return field._replace(size=size, signed=is_signed) if is_number and _is_read(field, size) else field


def _is_read(field: Field, size: int) -> bool:
    return field.kind == "int" and field.size >= size


def _cut(source: GeneratedExpression, size: int, is_signed: bool) -> GeneratedExpression:
    """The lowest bytes of an integer."""
    mask = constant((1 << 8 * size) - 1)
    if not is_signed:
        return code("{} & {}", source, mask)
    half = constant(1 << 8 * size - 1)
    return code("({} + {} & {}) - {}", source, half, mask, half)


def _has_own_form(argument: ConversionArgument) -> bool:
    """Whether it is shown in a form of the language's, which escapes what it quotes."""
    return argument.kind == "bytes" and (_object_word(argument) in OBJECTS or TYPED in argument.detail)


def _object_word(argument: ConversionArgument) -> str:
    return argument.detail.partition(TYPED)[0].partition(" ")[0]


def _text(argument: ConversionArgument) -> GeneratedExpression:
    match argument.kind:
        case "bytes" if (keyword := _object_word(argument)) in OBJECTS:
            return code("object_text({}, {})", constant(keyword), argument.source)
        case "bytes" if TYPED in argument.detail:
            return code("typed({}, {})", constant(int(argument.detail.partition(TYPED)[2])), argument.source)
        case "bytes":
            return code("{}.partition(b'\\0')[0]", argument.source)
        case _:
            return of_kind(argument, "string", "interned", "long_string", "long_bytes", "named", "noted").source
