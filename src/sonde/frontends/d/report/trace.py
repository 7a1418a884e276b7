"""How trace() shows a value, and printa() a key."""

from __future__ import annotations

from sonde.consume.generated import GeneratedExpression, code, constant
from sonde.model.records import LITERAL, Field
from sonde.report.escaping import Escaping, escaped_by, mapping_named
from sonde.report.piece import FormatPiece

_SIGNED = {1: b" %3d", 2: b" %5d", 4: b" %10d", 8: b" %19d"}
_UNSIGNED = {1: b" %3d", 2: b" %5d", 4: b" %10d", 8: b" %20d"}
_KEY_WIDTHS = {1: b" %3d", 2: b" %5d", 4: b" %8d", 8: b" %16d"}
STRINGS = ("string", "interned", "long_string", "named", "noted")


def shown_field(field: Field) -> Field:
    """The field as it is to be decoded: integers of odd sizes as memory."""
    if field.kind == "int" and field.size not in _SIGNED:
        return field._replace(kind="bytes")
    return field


def trace_piece(
    field: Field, source: GeneratedExpression, escaping: Escaping, quiet: bool, string_memory: int = 0
) -> FormatPiece:
    """One value as trace() shows it; without padding if quiet; strings as so much memory, if it is not 0."""
    if string_memory and field.kind in STRINGS:
        return FormatPiece(b"%s", (_as_memory(source, string_memory),))
    match field.kind:
        case "int":
            widths = _SIGNED if field.signed else _UNSIGNED
            return FormatPiece(b"%d" if quiet else widths[field.size], (source,))
        case "string" | "interned" | "long_string" | "named" | "noted":
            escape = escaping.values if quiet else escaping.rows
            shown = escaped_by(escaping.program if field.detail == LITERAL else escape, source)
            return FormatPiece(b"%s" if quiet else b"  %-33s", (shown,))
        case _:
            return _other_piece(field, source) or FormatPiece(b"%s", (code("dump({})", source),))


def _other_piece(field: Field, source: GeneratedExpression) -> FormatPiece | None:
    """Stacks and symbols, which look the same everywhere."""
    match field.kind:
        case "stack":
            return FormatPiece(b"%s", (code("kernel_stack({}, {})", source, constant(int(field.detail or 0) or None)),))
        case "ustack":
            return FormatPiece(b"%s", (code("user_stack({})", source),))
        case "symbol":
            return FormatPiece(b"  %-50s", (code("kernel({}, {})", source, constant(field.detail)),))
        case "user_symbol":
            return FormatPiece(b"  %-50s", (code("user({}, {})", source, constant(field.detail)),))
        case _:
            return None


def key_piece(field: Field, source: GeneratedExpression, escaping: Escaping) -> FormatPiece:
    """One part of an aggregation's key in the default layout.

    DTrace shows integers of four and eight bytes signed and smaller ones unsigned, whatever their type.
    """
    match field.kind:
        case "int":
            return FormatPiece(_KEY_WIDTHS[field.size], (_printed_integer(field, source),))
        case "string" | "interned" | "long_string" | "named" | "noted":
            return FormatPiece(b"  %-50s", (escaped_by(escaping.rows, source),))
        case _:
            text = code("dump_or_text({}, {})", source, mapping_named(escaping.rows))
            return _other_piece(field, source) or FormatPiece(b"%s", (text,))


def _as_memory(source: GeneratedExpression, size: int) -> GeneratedExpression:
    """So many bytes of a string, the last of which is its NUL."""
    return code("dump({}[:{}].ljust({}, b'\\0'))", source, constant(size - 1), constant(size))


def _printed_integer(field: Field, source: GeneratedExpression) -> GeneratedExpression:
    if field.size < 4:
        return code("({} & {})", source, constant((1 << 8 * field.size) - 1))
    half = 1 << 8 * field.size - 1
    return source if field.signed else code("(({} ^ {}) - {})", source, constant(half), constant(half))
