"""Tokens of C one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sonde.frontends.bpftrace.check.definitions.tokens import PROGRAM, CTextError, CToken

_DEEPEST = 100


class TokenReader:
    """`is_type` tells whether a token begins the name of a type."""

    def __init__(self, tokens: Sequence[CToken], is_type: Callable[[CToken], bool] = lambda _: False) -> None:
        self._tokens = tokens
        last = tokens[-1] if tokens else CToken("", "", PROGRAM, 1, 1)
        self._end = CToken("", "", last.file, last.line, last.column + len(last.text))
        self._at = 0
        self._depth = 0
        self._is_type = is_type

    def peek(self, number: int) -> CToken:
        """The token so far ahead."""
        at = self._at + number
        return self._tokens[at] if at < len(self._tokens) else self._end

    @property
    def token(self) -> CToken:
        return self.peek(0)

    def next(self) -> CToken:
        token = self.token
        self._at += 1
        return token

    def mark(self) -> int:
        """What `reset` goes back to."""
        return self._at

    def reset(self, mark: int) -> None:
        self._at = mark
        self._depth = 0

    def accept(self, text: str) -> bool:
        if self.token.text != text:
            return False
        self._at += 1
        return True

    def expect(self, text: str) -> CToken:
        if self.token.text != text:
            raise CTextError(f"expected '{text}'", self.token)
        return self.next()

    def starts_type(self, number: int = 0) -> bool:
        return self._is_type(self.peek(number))

    def name(self) -> CToken:
        if self.token.kind != "name":
            raise CTextError("expected identifier", self.token)
        return self.next()

    def skip_parenthesized(self) -> None:
        """From an opening bracket behind the one that closes it; nothing where none opens."""
        depth = 0
        while self.token.kind:
            depth += self.token.text in ("(", "[", "{")
            depth -= self.token.text in (")", "]", "}")
            if depth:
                self.next()
                continue
            if self.token.text in (")", "]", "}"):
                self.next()
            return

    def skip_declaration(self) -> None:
        """Behind the semicolon, or the body of a function, that ends one."""
        while self.token.kind and not self.accept(";"):
            is_body = self.token.text == "{"
            if self.token.text in ("(", "[", "{"):
                self.skip_parenthesized()
                if is_body and self.token.text not in (";", ",", "=") and not self._goes_on():
                    return
            else:
                self.next()

    def _goes_on(self) -> bool:
        """Whether a declarator or an attribute comes behind a body."""
        return self.token.text in ("*", "__attribute__") or (self.token.kind == "name" and not self.starts_type())

    @contextmanager
    def nested(self) -> Iterator[None]:
        """One level deeper; raises CTextError where there are too many."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise CTextError("nested too deeply", self.token)
        yield
        self._depth -= 1
