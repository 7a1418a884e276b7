"""Declarations of C made types: structures, unions, enumerations and typedefs (C17, 6.7).

Functions and variables are passed over. In files that are included a declaration which cannot be read is, too: whoever
wants what it declares is told that it is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sonde.frontends.bpftrace.check.definitions.constants import constant, operand
from sonde.frontends.bpftrace.check.definitions.declarators import (
    QUALIFIERS,
    CDeclarator,
    Operands,
    attributes,
    declarator,
    derived,
)
from sonde.frontends.bpftrace.check.definitions.layout import LayoutAttributes, UnplacedField, laid_out
from sonde.frontends.bpftrace.check.definitions.reader import TokenReader
from sonde.frontends.bpftrace.check.definitions.tokens import PROGRAM, CTextError, CToken
from sonde.frontends.bpftrace.check.known_types import KnownTypes
from sonde.frontends.bpftrace.check.types import INTEGERS
from sonde.model.types import (
    BOOL,
    BUILTIN_TYPEDEFS,
    CHAR,
    DOUBLE,
    FLOAT,
    INT128,
    LDOUBLE,
    UINT128,
    VOID,
    Array,
    Enum,
    Int,
    Struct,
    Type,
    Typedef,
    align_of,
    is_signed,
    name_of,
    resolve,
    size_of,
)
from sonde.typed import NamedTuple

_TAGGED = ("struct", "union", "enum")
_STORAGE = frozenset({"extern", "static", "inline", "__inline", "__inline__", "register", "auto", "_Thread_local"})
_WORDS = frozenset({
    "void", "char", "short", "int", "long", "float", "double", "signed", "__signed__", "unsigned", "_Bool", "bool",
    "__int128",
})  # fmt: skip
_FIXED: dict[str, Type] = {"_Bool": BOOL, "bool": BOOL, "void": VOID, "float": FLOAT, "double": DOUBLE}
_LARGEST_SIZE = 1 << 31


class Specified(NamedTuple):
    """`alignment` is that of objects of the type."""

    type: Type
    alignment: int
    attributes: LayoutAttributes
    is_typedef: bool


class Declarations:
    """Reads all tokens of a program's C text, and makes what they declare known."""

    def __init__(self, found: Sequence[CToken], known: KnownTypes) -> None:
        self._known = known
        self._reader = TokenReader(found, self._is_type)
        self._operands = Operands(self._named_constant, self._cast)
        self._alignments: dict[str, int] = {}
        pairs = list(pairwise(found))
        # Structures are told of before they are defined: these are not the kernel's of the same tag.
        self._defined = {name.text for name, brace in pairs if brace.text == "{" and name.kind == "name"}
        own = {name.text for name, brace in pairs if brace.text == "{" and name.file == PROGRAM}
        # Who defines a type of the kernel again gets none that is by value from there, since they might not agree.
        self._is_alone = any(known.catalog.tagged_type("struct", name) for name in own)

    def read(self) -> None:
        """Raises CTextError."""
        reader = self._reader
        while reader.token.kind:
            start = reader.mark()
            is_own = reader.token.file == PROGRAM
            try:
                self._declaration()
            except CTextError:
                if is_own:
                    raise
                reader.reset(start)
                reader.skip_declaration()

    def _declaration(self) -> None:
        reader = self._reader
        if reader.accept(";"):
            return
        if reader.token.text in ("_Static_assert", "asm", "__asm__"):
            reader.skip_declaration()
            return
        head = self._specifiers()
        if reader.token.text in (*_TAGGED, "typedef", "") and isinstance(resolve(head.type), (Struct, Enum)):
            # A definition without a semicolon, as a program of bpftrace may have it.
            return
        if not head.is_typedef:
            reader.skip_declaration()
            return
        while True:
            self._typedef(head, declarator(reader, self._operands))
            if not reader.accept(","):
                break
        reader.expect(";")

    def _typedef(self, head: Specified, found: CDeclarator) -> None:
        if found.name is None:
            raise CTextError("expected identifier", self._reader.token)
        name = found.name.text
        kind = derived(head.type, found.parts, found.name)
        wanted = head.attributes.joined(found.attributes)
        self._alignments[name] = wanted.aligned or (align_of(kind) if found.parts else head.alignment)
        self._known.named[name] = Typedef(name, kind)

    # The words before a declarator

    def _is_type(self, token: CToken) -> bool:
        text = token.text
        if text in _WORDS or text in QUALIFIERS or text in _TAGGED:
            return True
        return token.kind == "name" and self._type_named(text) is not None

    def _type_named(self, name: str) -> Type | None:
        if name in self._known.named:
            return self._known.named[name]
        fixed = INTEGERS.get(name.removesuffix("_t"))
        if fixed is not None and name.endswith("_t"):
            return Typedef(name, fixed)
        return BUILTIN_TYPEDEFS.get(name) or self._known.catalog.type_named(name)

    def _specifiers(self) -> Specified:
        reader = self._reader
        words: list[str] = []
        wanted = LayoutAttributes()
        is_typedef = False
        other: Type | None = None
        alignment = 0
        first = reader.token
        while True:
            wanted = wanted.joined(attributes(reader, self._operands))
            text = reader.token.text
            if text in _WORDS:
                words.append(reader.next().text)
            elif text in _STORAGE or text == "typedef":
                is_typedef |= reader.next().text == "typedef"
            elif text in _TAGGED and other is None:
                other = self._tagged()
            elif reader.token.kind == "name" and not words and other is None:
                other = self._type_named(text)
                if other is None:
                    raise CTextError(f"unknown type name '{text}'", reader.token)
                alignment = self._alignments.get(text, 0)
                reader.next()
            else:
                break
        if other is None:
            other = _of_words(words, first)
        return Specified(other, alignment or align_of(other), wanted, is_typedef)

    def type_name(self) -> Type:
        """As in a cast or sizeof."""
        at = self._reader.token
        base = self._specifiers().type
        return derived(base, declarator(self._reader, self._operands).parts, at)

    # Structures, unions and enumerations

    def _tagged(self) -> Type:
        reader = self._reader
        keyword = reader.next().text
        wanted = attributes(reader, self._operands)
        tag = reader.next() if reader.token.kind == "name" else None
        if reader.token.text == ":" and keyword == "enum" and reader.starts_type(1):
            reader.next()
            self._specifiers()
        if not reader.accept("{"):
            if tag is None:
                raise CTextError("declaration of anonymous " + keyword + " must be a definition", reader.token)
            return self._by_tag(keyword, tag.text)
        if keyword == "enum":
            return self._enumeration(tag, wanted)
        own = self._begun(keyword, tag)
        with reader.nested():
            fields = self._fields()
        wanted = wanted.joined(attributes(reader, self._operands))
        made = laid_out(keyword, fields, wanted)
        if made.size > _LARGEST_SIZE:
            raise CTextError(f"'{keyword} {own.name}' is too large", tag or reader.token)
        own.define(made.size, made.members, wanted.packed, made.alignment)
        return own

    def _begun(self, keyword: str, tag: CToken | None) -> Struct:
        """The structure that a body comes for."""
        if tag is None:
            return Struct(keyword, "", 0)
        known = self._known.tagged.get((keyword, tag.text))
        if isinstance(known, Struct) and known.complete:
            raise CTextError(f"redefinition of '{tag.text}'", tag)
        own = known if isinstance(known, Struct) else Struct(keyword, tag.text, 0)
        self._known.tagged[keyword, tag.text] = own
        return own

    def _by_tag(self, keyword: str, name: str) -> Type:
        own = self._known.tagged.get((keyword, name))
        if own is None and not (name in self._defined or self._is_alone):
            own = self._known.catalog.tagged_type(keyword, name)
        if own is None:
            own = Enum(name, 4, False, ()) if keyword == "enum" else Struct(keyword, name, 0)
            if keyword != "enum":
                self._known.tagged[keyword, name] = own
        return own

    def _fields(self) -> list[UnplacedField]:
        reader = self._reader
        found: list[UnplacedField] = []
        names: set[str] = set()
        while not reader.accept("}"):
            if not reader.token.kind:
                raise CTextError("expected '}'", reader.token)
            if reader.accept(";"):
                continue
            if reader.token.text == "_Static_assert":
                reader.skip_declaration()
                continue
            found += self._members(names)
        return found

    def _members(self, names: set[str]) -> list[UnplacedField]:
        """Those of one declaration."""
        reader = self._reader
        head = self._specifiers()
        if reader.accept(";"):
            if isinstance(resolve(head.type), Struct):
                return [UnplacedField("", head.type, None, head.attributes, head.alignment)]
            return []
        found: list[UnplacedField] = []
        while True:
            found.append(self._field(head, names))
            if not reader.accept(","):
                break
        # The last one may do without its semicolon, of which compilers only warn.
        if reader.token.text != "}":
            reader.expect(";")
        return found

    def _field(self, head: Specified, names: set[str]) -> UnplacedField:
        reader = self._reader
        at = reader.token
        found = CDeclarator(None, (), LayoutAttributes()) if at.text == ":" else declarator(reader, self._operands)
        kind = derived(head.type, found.parts, at)
        bits = None
        if reader.accept(":"):
            bits = self._bits(kind, found.name, at)
        elif found.name is None:
            raise CTextError("expected member name or ';' after declaration specifiers", at)
        else:
            _require_complete(kind, found.name)
        wanted = head.attributes.joined(found.attributes).joined(attributes(reader, self._operands))
        name = "" if found.name is None else found.name.text
        if name in names:
            raise CTextError(f"duplicate member '{name}'", at)
        names |= {name} - {""}
        return UnplacedField(name, kind, bits, wanted, align_of(kind) if found.parts else head.alignment)

    def _bits(self, kind: Type, name: CToken | None, at: CToken) -> int:
        bits = constant(self._reader, self._operands.named, self._operands.cast)
        if not isinstance(resolve(kind), (Int, Enum)) or size_of(kind) > 8:
            raise CTextError(f"bit-field has non-integral type '{name_of(kind)}'", at)
        most = 1 if resolve(kind) == BOOL else 8 * size_of(kind)
        if not 0 <= bits <= most or (name is not None and not bits):
            raise CTextError(f"width of bit-field ({bits} bits) is not one of its type ({most} bits)", at)
        return bits

    def _enumeration(self, tag: CToken | None, wanted: LayoutAttributes) -> Type:
        reader = self._reader
        values: dict[str, int] = {}
        last = -1
        while not reader.accept("}"):
            name = reader.name()
            attributes(reader, self._operands)
            last += 1
            if reader.accept("="):
                last = constant(reader, self._operands.named, self._operands.cast)
            if name.text in values or name.text in self._known.enumerators:
                raise CTextError(f"redefinition of enumerator '{name.text}'", name)
            values[name.text] = last
            # What follows may be made of it.
            self._known.enumerators[name.text] = (INTEGERS["int64"], last)
            if not reader.accept(","):
                reader.expect("}")
                break
        wanted = wanted.joined(attributes(reader, self._operands))
        made = _enumeration_of("" if tag is None else tag.text, values, wanted.packed)
        for each, value in values.items():
            self._known.enumerators[each] = (made, value)
        if tag is not None:
            self._known.tagged["enum", tag.text] = made
        return made

    # What constants are made of

    def _named_constant(self, reader: TokenReader) -> int:
        token = reader.next()
        if token.text in ("sizeof", "_Alignof", "__alignof__"):
            reader.expect("(")
            kind = self.type_name()
            reader.expect(")")
            return size_of(kind) if token.text == "sizeof" else align_of(kind)
        known = self._known.enumerator(token.text)
        value = self._known.header_constant(token.text) if known is None else known[1]
        if value is None:
            raise CTextError(f"use of undeclared identifier '{token.text}'", token)
        return value

    def _cast(self, reader: TokenReader) -> int:
        reader.expect("(")
        kind = self.type_name()
        reader.expect(")")
        value = operand(reader, self._operands.named, self._operands.cast)
        size = 8 * (size_of(kind) or 8)
        value &= (1 << size) - 1
        return value - (1 << size) if is_signed(kind) and value >> size - 1 else value


def _of_words(words: list[str], at: CToken) -> Type:
    """The type of C's own words, in any order."""
    names = set(words) - {"signed", "__signed__", "unsigned", "int", "long", "short"}
    is_unsigned = "unsigned" in words
    if not words:
        raise CTextError("expected a type", at)
    if len(names) > 1:
        raise CTextError(f"cannot combine '{words[0]}' with '{words[-1]}'", at)
    name = next(iter(names), "")
    if name == "double" and "long" in words:
        return LDOUBLE
    if name in _FIXED:
        return _FIXED[name]
    if name == "__int128":
        return UINT128 if is_unsigned else INT128
    if name == "char":
        return INTEGERS["uint8" if is_unsigned else "int8"] if {"signed", "unsigned"} & set(words) else CHAR
    bits = 16 if "short" in words else 64 if "long" in words else 32
    return INTEGERS[f"{'u' if is_unsigned else ''}int{bits}"]


def _require_complete(kind: Type, name: CToken) -> None:
    base = resolve(kind)
    while isinstance(base, Array):
        base = resolve(base.of)
    if (isinstance(base, Struct) and not base.complete) or base == VOID:
        raise CTextError(f"field has incomplete type '{name_of(base)}'", name)


def _enumeration_of(name: str, values: dict[str, int], is_packed: bool) -> Enum:
    """GNU C's type for it: the first of unsigned int, int, and the same in 64 bits, that holds all values."""
    least, most = min(values.values(), default=0), max(values.values(), default=0)
    signed = least < 0
    sizes = (1, 2, 4, 8) if is_packed else (4, 8)
    size = next((each for each in sizes if most < 1 << 8 * each - signed and least >= -1 << 8 * each - 1), 8)
    return Enum(name, size, signed, tuple(values.items()))
