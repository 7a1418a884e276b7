"""How trace() shows a value, and printa() a key."""

from __future__ import annotations

from sonde.model.spec import LITERAL, Field
from sonde.report.escaping import Escaping, escaped_by
from sonde.report.piece import Piece

_SIGNED = {1: b" %3d", 2: b" %5d", 4: b" %10d", 8: b" %19d"}
_UNSIGNED = {1: b" %3d", 2: b" %5d", 4: b" %10d", 8: b" %20d"}
_KEY_WIDTHS = {1: b" %3d", 2: b" %5d", 4: b" %8d", 8: b" %16d"}
STRINGS = ("string", "interned", "long_string")


def shown_field(field: Field) -> Field:
    """The field as it is to be decoded: integers of odd sizes as memory."""
    if field.kind == "int" and field.size not in _SIGNED:
        return field._replace(kind="bytes")
    return field


def trace_piece(field: Field, source: str, escaping: Escaping, quiet: bool, string_memory: int = 0) -> Piece:
    """One value as trace() shows it; without padding if quiet; strings as so much memory, if it is not 0."""
    if string_memory and field.kind in STRINGS:
        return Piece(b"%s", (f"dump({source}[:{string_memory - 1}].ljust({string_memory}, b'\\0'))",))
    match field.kind:
        case "int":
            widths = _SIGNED if field.signed else _UNSIGNED
            return Piece(b"%d" if quiet else widths[field.size], (source,))
        case "string" | "interned" | "long_string":
            escape = escaping.values if quiet else escaping.rows
            shown = escaped_by(escaping.program if field.detail == LITERAL else escape, source)
            return Piece(b"%s" if quiet else b"  %-33s", (shown,))
        case _:
            return _other_piece(field, source) or Piece(b"%s", (f"dump({source})",))


def _other_piece(field: Field, source: str) -> Piece | None:
    """Stacks and symbols, which look the same everywhere."""
    match field.kind:
        case "stack":
            return Piece(b"%s", (f"kernel_stack({source}, {int(field.detail or 0) or None})",))
        case "ustack":
            return Piece(b"%s", (f"user_stack({source})",))
        case "symbol":
            return Piece(b"  %-50s", (f"kernel({source}, {field.detail!r})",))
        case "user_symbol":
            return Piece(b"  %-50s", (f"user({source}, {field.detail!r})",))
        case _:
            return None


def key_piece(field: Field, source: str, escaping: Escaping) -> Piece:
    """One part of an aggregation's key in the default layout.

    DTrace shows integers of four and eight bytes signed and smaller ones unsigned, whatever their type.
    """
    match field.kind:
        case "int":
            return Piece(_KEY_WIDTHS[field.size], (_printed_integer(field, source),))
        case "string" | "interned" | "long_string":
            return Piece(b"  %-50s", (escaped_by(escaping.rows, source),))
        case _:
            return _other_piece(field, source) or Piece(b"%s", (f"dump_or_text({source}, {escaping.rows or None})",))


def _printed_integer(field: Field, source: str) -> str:
    if field.size < 4:
        return f"({source} & {(1 << 8 * field.size) - 1})"
    half = 1 << 8 * field.size - 1
    return source if field.signed else f"(({source} ^ {half}) - {half})"
