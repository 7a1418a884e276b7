"""D source text -> syntax tree: whole programs, item by item where the reader must keep up, types and expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sonde.frontends.d import definitions, gnu
from sonde.frontends.d.clauses import probe_clause
from sonde.frontends.d.declarations import STORAGE_WORDS, declaration, static_assertion
from sonde.frontends.d.errors import DError
from sonde.frontends.d.expressions import constant, expression
from sonde.frontends.d.lexer import END, NUMBER, SPEC, Lexer, Token
from sonde.frontends.d.source import Macros, ProgramSource
from sonde.frontends.d.stream import TYPE_WORDS, TokenStream
from sonde.frontends.d.syntax import Expr, Item, Pragma
from sonde.model.errors import Position

IsTypeName = Callable[[str], bool]

_DEFINITION_WORDS = frozenset({"inline", "provider", "translator"})
_DECLARATION_WORDS = TYPE_WORDS | STORAGE_WORDS | _DEFINITION_WORDS | gnu.WORDS
_ALWAYS_PROBES = frozenset({"BEGIN", "END", "ERROR"})
# A word outside clauses that holds one of these can only be a probe description.
_ONLY_IN_PROBES = re.compile(r"[-:.?!`]")
_LEADING_NAME = re.compile(r"[a-zA-Z_][0-9a-zA-Z_]*")
_DECLARATOR_FOLLOWS = re.compile(r"\s*[a-zA-Z_*(]")

NO_MACROS = Macros()


def no_type_names(_name: str) -> bool:
    """For a text that needs no types but the built-in ones and those it declares."""
    return False


class Parser:
    """Parses one source; `items` is to be run through once.

    `is_type_name` is asked for names that are neither built-in types nor typedefs of this source: as it is asked while
    items are produced, it can know what earlier items declared. So with `is_known`, which is asked for what a name in a
    mistake means.
    """

    def __init__(
        self, source: ProgramSource, macros: Macros = NO_MACROS, is_type_name: IsTypeName = no_type_names,
        is_known: Callable[[str], bool] = lambda _name: True,
    ) -> None:  # fmt: skip
        self._source = source
        self._lexer = Lexer(source, macros)
        self._stream = TokenStream(self._lexer, is_type_name, constant, is_known)

    @property
    def used_arguments(self) -> frozenset[int]:
        """The numbers of the macro arguments named so far."""
        return frozenset(self._lexer.used_arguments)

    @property
    def position(self) -> Position:
        """How far the source has been read."""
        return self._lexer.position()

    def items(self) -> Iterator[Item]:
        """The items in their order; a pragma in the middle of an item comes before it, even if the item is wrong."""
        try:
            while True:
                token = self._lexer.next_outer()
                yield from self._pragmas()
                if token.kind == END:
                    return
                item = self._item(token)
                yield from self._pragmas()
                if item:
                    yield item
        except DError:
            yield from self._pragmas()
            raise

    def _pragmas(self) -> list[Pragma]:
        found = self._lexer.pragmas
        self._lexer.pragmas = []
        return found

    def _item(self, token: Token) -> Item | None:
        """The item that begins with `token`; None if it says nothing to D."""
        stream = self._stream
        if token.kind not in (SPEC, NUMBER):
            raise stream.error(token)
        if not self._starts_declaration(token):
            return probe_clause(stream, token, self._source.spec_kind, self._source.bodiless)
        self._lexer.back_to(token)
        stream.advance()
        if stream.at("_Static_assert"):
            static_assertion(stream)
            return None
        if stream.at("inline") or stream.at("translator") or stream.at("provider"):
            return definitions.definition(stream)
        return declaration(stream)

    def _starts_declaration(self, token: Token) -> bool:
        text = token.text
        name = _LEADING_NAME.match(text)
        if token.kind == NUMBER or not name or text in _ALWAYS_PROBES or _ONLY_IN_PROBES.search(text):
            return False
        is_whole = name[0] == text
        if self._lexer.pspec and not is_whole:
            return False
        if name[0] in _DECLARATION_WORDS:
            return True
        # The kernel has so many types that a probe may well be called like one: then no declarator follows.
        follows = not is_whole or _DECLARATOR_FOLLOWS.match(self._source.text, token.offset + len(text)) is not None
        return follows and self._stream.is_type(name[0])


def parse_expression(text: str, macros: Macros = NO_MACROS, is_type_name: IsTypeName = no_type_names) -> Expr:
    """An expression that is the whole text."""
    stream = TokenStream(Lexer(ProgramSource(text), macros), is_type_name, constant)
    stream.advance()
    result = expression(stream)
    stream.expect_last(END)
    return result
