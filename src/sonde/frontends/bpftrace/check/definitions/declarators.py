"""Declarators of C: pointers, arrays and functions around a name (C17, 6.7.6); and attributes of GNU C."""

from __future__ import annotations

from sonde.frontends.bpftrace.check.definitions.constants import Operand, constant
from sonde.frontends.bpftrace.check.definitions.layout import LayoutAttributes
from sonde.frontends.bpftrace.check.definitions.reader import TokenReader
from sonde.frontends.bpftrace.check.definitions.tokens import CTextError, CToken
from sonde.model.types import VOID, Array, Function, Pointer, Type, resolve, size_of
from sonde.typed import NamedTuple, TypeAlias

QUALIFIERS = frozenset({
    "const", "volatile", "restrict", "__const", "__const__", "__volatile", "__volatile__", "__restrict",
    "__restrict__", "_Atomic", "__extension__", "_Noreturn",
})  # fmt: skip
_ATTRIBUTE_WORDS = ("__attribute__", "__attribute")
_PASSED_OVER = ("__asm__", "__asm", "asm")
_LARGEST_ALIGNMENT = 16
"""What `aligned` without a number asks for."""
_LARGEST = 1 << 31

Part: TypeAlias = "str | int | None"
"""`*` is a pointer, `(` a function; a number, or None where it is left open, are elements of an array."""


class Operands(NamedTuple):
    """How constants read names and casts."""

    named: Operand
    cast: Operand


class CDeclarator(NamedTuple):
    """`parts` are those next to the name first; `name` is None where there is none."""

    name: CToken | None
    parts: tuple[Part, ...]
    attributes: LayoutAttributes


def declarator(reader: TokenReader, operands: Operands) -> CDeclarator:
    """Of a name or, as in casts, of none. Raises CTextError."""
    found = attributes(reader, operands)
    pointers: list[Part] = []
    while reader.accept("*"):
        pointers.append("*")
        found = found.joined(attributes(reader, operands))
    name: CToken | None = None
    parts: tuple[Part, ...] = ()
    if reader.token.kind == "name":
        name = reader.next()
    elif reader.token.text == "(" and (reader.peek(1).text in ("*", "(") or reader.peek(1).text in _ATTRIBUTE_WORDS):
        reader.next()
        with reader.nested():
            inner = declarator(reader, operands)
        reader.expect(")")
        name, parts, found = inner.name, inner.parts, found.joined(inner.attributes)
    whole = [*parts, *_suffixes(reader, operands), *reversed(pointers)]
    return CDeclarator(name, tuple(whole), found.joined(attributes(reader, operands)))


def _suffixes(reader: TokenReader, operands: Operands) -> list[Part]:
    found: list[Part] = []
    while reader.token.text in ("[", "("):
        if reader.token.text == "(":
            reader.skip_parenthesized()
            found.append("(")
            continue
        at = reader.next()
        if reader.accept("]"):
            found.append(None)
            continue
        length = constant(reader, operands.named, operands.cast)
        if not 0 <= length < _LARGEST:
            raise CTextError("array size is negative" if length < 0 else "array is too large", at)
        found.append(length)
        reader.expect("]")
    return found


def derived(base: Type, parts: tuple[Part, ...], at: CToken) -> Type:
    """The type that a declarator makes of the one before it. Raises CTextError."""
    for part in reversed(parts):
        if part == "*":
            base = Pointer(base)
        elif part == "(":
            base = Function(base, (), True)
        else:
            assert not isinstance(part, str)
            if resolve(base) == VOID:
                raise CTextError("array has incomplete element type 'void'", at)
            base = Array(base, part)
            if size_of(base) > _LARGEST:
                raise CTextError("array is too large", at)
    return base


def attributes(reader: TokenReader, operands: Operands) -> LayoutAttributes:
    """Those that come next, if any; qualifiers and what names a symbol are passed over."""
    found = LayoutAttributes()
    while True:
        if reader.token.text in QUALIFIERS:
            reader.next()
        elif reader.token.text in _PASSED_OVER:
            reader.next()
            reader.skip_parenthesized()
        elif reader.token.text == "_Alignas":
            reader.next()
            found = found.joined(LayoutAttributes(aligned=_alignment(reader, operands)))
        elif reader.token.text in _ATTRIBUTE_WORDS:
            reader.next()
            reader.expect("(")
            reader.expect("(")
            found = found.joined(_listed(reader, operands))
            reader.expect(")")
            reader.expect(")")
        else:
            return found


def _listed(reader: TokenReader, operands: Operands) -> LayoutAttributes:
    found = LayoutAttributes()
    while reader.token.kind and reader.token.text != ")":
        name = reader.next().text.strip("_")
        if name == "packed":
            found = found._replace(packed=True)
        elif name == "aligned":
            found = found.joined(LayoutAttributes(aligned=_alignment(reader, operands)))
        elif reader.token.text == "(":
            reader.skip_parenthesized()
    return found


def _alignment(reader: TokenReader, operands: Operands) -> int:
    if not reader.accept("("):
        return _LARGEST_ALIGNMENT
    at = reader.token
    value = constant(reader, operands.named, operands.cast)
    reader.expect(")")
    if value < 1 or value & value - 1 or value >= _LARGEST:
        raise CTextError("requested alignment is not a power of 2", at)
    return value
