"""The tokens of a program one after the other, with a look at those to come."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.frontends.bpftrace.errors import BtError, SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.lexer import BtToken, SourceText, token_at
from sonde.typed import NamedTuple, NoReturn

MOST_TOKENS = 80_000


class Grammar(NamedTuple):
    """What files of the parser ask of each other: a type or an expression, a block that is a value, an `if` that is
    one."""

    type_or_expression: Callable[[Stream], nodes.Expr | nodes.TypeName]
    block_value: Callable[[Stream], nodes.Expr]
    if_value: Callable[[Stream], nodes.Expr]


class Stream:
    """`arguments` are $1 ..., `types` what typedefs of the program's C text have named."""

    def __init__(
        self, text: str, grammar: Grammar, arguments: Sequence[str] = (), types: frozenset[str] = frozenset()
    ) -> None:
        self.source = SourceText(text)
        self.grammar = grammar
        self.arguments = arguments
        self.types = types
        self.offset = 0
        self.limit = len(text)
        """Where the text ends for who reads a part of it."""
        self._ahead: list[BtToken] = []
        self._last = BtToken("", "", 0, 0)
        self._count = 0

    def peek(self, number: int = 0) -> BtToken:
        while len(self._ahead) <= number:
            self._ahead.append(self._at(self._ahead[-1].end if self._ahead else self.offset))
        return self._ahead[number]

    def _at(self, offset: int) -> BtToken:
        if offset < self.limit:
            token = token_at(self.source, offset)
            if token.start < self.limit:
                return token
        return BtToken("", "", self.limit, self.limit)

    def next(self) -> BtToken:
        token = self.peek()
        self._ahead.pop(0)
        self.offset = token.end
        self._last = token
        self._count += 1
        if self._count > MOST_TOKENS:
            self.fail("the program is too large", token)
        return token

    def jump(self, offset: int) -> None:
        """Go on there: text that is not made of tokens ends there."""
        self._ahead.clear()
        self.offset = offset
        self._last = BtToken("", "", offset, offset)

    def at(self, *texts: str) -> bool:
        """Whether one of these comes, a sign or a word."""
        token = self.peek()
        return token.kind in ("op", "name") and token.text in texts

    def accept(self, *texts: str) -> BtToken | None:
        return self.next() if self.at(*texts) else None

    def expect(self, text: str) -> BtToken:
        return self.next() if self.at(text) else self.missing(f"'{text}'")

    def name(self) -> BtToken:
        return self.next() if self.peek().kind == "name" else self.missing("identifier")

    def missing(self, expected: str) -> NoReturn:
        """Something else stands where `expected` should."""
        token = self.peek()
        found = f"not '{token.text}'" if token.text else "but the program ends here"
        # A word is marked whole, of signs the first character.
        shown = token._replace(end=token.start + 1) if token.kind == "op" else token
        self.fail(f"syntax: expected {expected}, {found}", shown)

    def fail(self, text: str, token: BtToken) -> NoReturn:
        raise BtError(text, self.span(token))

    def span(self, token: BtToken) -> SourceSpan:
        return self.source.span(token.start, max(token.end, token.start + 1))

    def since(self, start: int) -> SourceSpan:
        """From an offset to the end of the last token."""
        return self.source.span(start, max(self._last.end, start + 1))
