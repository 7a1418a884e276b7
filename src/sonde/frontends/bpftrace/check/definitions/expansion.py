"""Macros of C replaced by what they stand for (C17, 6.10.3)."""

from __future__ import annotations

from collections.abc import Iterable

from sonde.frontends.bpftrace.check.definitions.tokens import CTextError, CToken, tokens
from sonde.typed import NamedTuple

_VARIADIC = "__VA_ARGS__"


class CMacro(NamedTuple):
    """`parameters` is None for a macro that takes no parentheses; "..." may be the last of them."""

    name: str
    body: tuple[CToken, ...]
    parameters: tuple[str, ...] | None


class Expansion:
    """`most` is how many tokens all expansions together may be."""

    def __init__(self, most: int) -> None:
        self.macros: dict[str, CMacro] = {}
        self._left = most

    def expanded(self, plain: Iterable[CToken]) -> list[CToken]:
        """With all macros replaced. Raises CTextError."""
        found: list[CToken] = []
        pending = list(plain)[::-1]
        while pending:
            token = pending.pop()
            macro = self.macros.get(token.text) if token.kind == "name" else None
            if macro is None or token.text in token.hidden:
                found.append(token)
            elif macro.parameters is None:
                self._push(pending, macro.body, token, token.hidden)
            elif pending and pending[-1].text == "(":
                arguments, closing = _arguments(pending, token)
                # Of a call that ends outside of what a macro stands for that macro is over.
                self._push(pending, self._applied(macro, arguments), token, token.hidden & closing.hidden)
            else:
                found.append(token)
        return found

    def _push(self, pending: list[CToken], body: Iterable[CToken], token: CToken, hidden: frozenset[str]) -> None:
        """What a macro stands for, at the macro's own place. In it neither the macro is expanded nor those that are
        `hidden`."""
        hidden |= {token.text}
        made = [
            each._replace(file=token.file, line=token.line, column=token.column, hidden=each.hidden | hidden)
            for each in body
        ]
        self._left -= len(made) + 1
        if self._left < 0:
            raise CTextError("macros stand for too much text", token, "fatal error")
        pending += reversed(made)

    def _applied(self, macro: CMacro, arguments: list[list[CToken]]) -> list[CToken]:
        assert macro.parameters is not None
        given = dict(zip(macro.parameters, arguments, strict=False))
        if macro.parameters[-1:] == ("...",):
            rest = arguments[len(macro.parameters) - 1 :]
            given[_VARIADIC] = [each for at, one in enumerate(rest) for each in (one if not at else [_COMMA, *one])]
        made: list[CToken] = []
        body = list(macro.body)
        for at, each in enumerate(body):
            before, after = (body[at - 1].text if at else ""), (body[at + 1].text if at + 1 < len(body) else "")
            if each.text == "#" and after in given:
                continue
            if each.text not in given:
                made.append(each)
            elif before == "#":
                made.append(each._replace(kind="string", text='"' + " ".join(t.text for t in given[each.text]) + '"'))
            else:
                raw = given[each.text]
                made += raw if "##" in (before, after) else self.expanded(raw)
        return _pasted(made)


_COMMA = CToken("sign", ",", "", 1, 1)


def _arguments(pending: list[CToken], macro: CToken) -> tuple[list[list[CToken]], CToken]:
    """Those in the parentheses that come next, which are taken, and the closing one."""
    pending.pop()
    found: list[list[CToken]] = [[]]
    depth = 1
    while pending:
        token = pending.pop()
        depth += token.text == "("
        depth -= token.text == ")"
        if not depth:
            return found, token
        if token.text == "," and depth == 1:
            found.append([])
        else:
            found[-1].append(token)
    raise CTextError(f"unterminated arguments of macro '{macro.text}'", macro)


def _pasted(body: list[CToken]) -> list[CToken]:
    """With what stands left and right of ## as one token."""
    made: list[CToken] = []
    joins = False
    for each in body:
        if each.text == "##":
            joins = True
        elif joins and made:
            text = made[-1].text + each.text
            made[-1] = next(iter(tokens(text, each.file)), each)._replace(text=text, line=each.line)
            joins = False
        else:
            made.append(each)
            joins = False
    return made
