"""Probe clauses: descriptions, predicate and statements."""

from __future__ import annotations

from collections.abc import Callable

from sonde.frontends.d.constants import integer
from sonde.frontends.d.descriptions import split_description
from sonde.frontends.d.errors import DError
from sonde.frontends.d.expressions import expression
from sonde.frontends.d.lexer import END, NUMBER, PREDICATE_END, SPEC, Token
from sonde.frontends.d.stream import TokenStream
from sonde.frontends.d.syntax import (
    Expr,
    ExpressionStatement,
    If,
    Leave,
    Loop,
    ProbeClause,
    ProbeDescription,
    Statement,
)


def probe_clause(stream: TokenStream, first: Token, spec_kind: str, bodiless: bool) -> ProbeClause:
    """A clause whose first description has been read as a token; its last `}` stays the current token."""
    specs = [_probe_spec(stream, first, spec_kind)]
    following = stream.lexer.next_outer()
    while following.kind == ",":
        specs.append(_probe_spec(stream, stream.lexer.next_outer(), spec_kind))
        following = stream.lexer.next_outer()
    predicate = None
    if following.kind == "/":
        predicate = _predicate(stream)
        if stream.at(END):
            raise DError("D_SYNTAX", "syntax error near end-of-input", stream.token.position)
        if not stream.at("{"):
            text = "expected actions { } following probe description and predicate"
            raise DError("D_SYNTAX", text, specs[-1].position)
    elif following.kind == "{":
        stream.token = following
    elif bodiless:
        stream.lexer.back_to(following)
        return ProbeClause(specs[0].position, tuple(specs), None, None)
    else:
        text = "expected predicate and/or actions following probe description"
        raise DError("D_SYNTAX", text, specs[-1].position)
    stream.advance()
    statements = _statements(stream)
    stream.expect_last("}")
    return ProbeClause(specs[0].position, tuple(specs), predicate, statements)


def _probe_spec(stream: TokenStream, token: Token, kind: str) -> ProbeDescription:
    lexer = stream.lexer
    if token.kind == NUMBER:
        identifier = integer(token.text, token.position).value
        if kind != "name":
            text = f"probe identifier {identifier} not permitted when specifying {kind}s"
            raise DError("D_PDESC_INVAL", text, token.position)
        return ProbeDescription(token.position, token.text, kind, ("", "", "", ""), identifier)
    if token.kind != SPEC:
        raise stream.error(token)

    def macro(name: str) -> str | None:
        if name.isdigit():
            return lexer.argument_if_any(name)
        number = lexer.variable(name)
        return None if number is None else str(number)

    return ProbeDescription(
        token.position, token.text, kind, split_description(token.text, kind, macro, token.position)
    )


def _predicate(stream: TokenStream) -> Expr:
    stream.lexer.in_predicate = True
    stream.advance()
    result = expression(stream)
    if not stream.at(PREDICATE_END):
        raise stream.error()
    stream.lexer.in_predicate = False
    stream.advance()
    return result


def _statements(stream: TokenStream) -> tuple[Statement, ...]:
    """Statements up to a closing brace, which stays the current token."""
    listed: list[Statement] = []
    while not stream.at("}"):
        if stream.accept(";"):
            continue
        listed.append(_statement(stream))
    return tuple(listed)


def _statement(stream: TokenStream) -> Statement:
    """One statement with what ends it; the last one before a brace needs no semicolon."""
    compound = _COMPOUND.get(stream.token.kind)
    if compound is not None:
        return compound(stream)
    statement = _leave(stream) if stream.token.kind in _LEAVING else _expression_statement(stream)
    if not stream.at("}"):
        stream.expect(";")
    return statement


def _expression_statement(stream: TokenStream) -> Statement:
    position = stream.token.position
    return ExpressionStatement(position, expression(stream))


def _if(stream: TokenStream) -> Statement:
    position = stream.expect("if").position
    stream.expect("(")
    test = expression(stream)
    stream.expect(")")
    with stream.nested():
        then = _branch(stream)
        otherwise: tuple[Statement, ...] = ()
        if stream.accept("else"):
            otherwise = _branch(stream)
    return If(position, test, then, otherwise)


def _branch(stream: TokenStream) -> tuple[Statement, ...]:
    """The block or the single statement that an `if`, an `else` or a loop governs."""
    if stream.accept("{"):
        statements = _statements(stream)
        stream.expect("}")
        return statements
    return () if stream.accept(";") else (_statement(stream),)


def _for(stream: TokenStream) -> Statement:
    position = stream.expect("for").position
    stream.expect("(")
    if stream.starts_type(stream.token):
        text = "no variable can be declared in a loop; use a clause-local one: for (this->i = 0; ...)"
        raise DError("D_SYNTAX", text, stream.token.position)
    initial = _optional(stream, ";")
    test = _optional(stream, ";")
    step = _optional(stream, ")")
    with stream.nested():
        return Loop(position, initial, test, step, _branch(stream))


def _optional(stream: TokenStream, end: str) -> Expr | None:
    """An expression, if there is one, and what must follow it."""
    found = None if stream.at(end) else expression(stream)
    stream.expect(end)
    return found


def _while(stream: TokenStream) -> Statement:
    position = stream.expect("while").position
    stream.expect("(")
    test = expression(stream)
    stream.expect(")")
    with stream.nested():
        return Loop(position, None, test, None, _branch(stream))


def _leave(stream: TokenStream) -> Statement:
    token = stream.token
    stream.advance()
    return Leave(token.position, token.kind == "break")


_LEAVING = ("break", "continue")
_COMPOUND: dict[str, Callable[[TokenStream], Statement]] = {"if": _if, "for": _for, "while": _while}
