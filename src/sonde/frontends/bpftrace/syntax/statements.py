"""Statements, and blocks of them."""

from __future__ import annotations

from sonde.frontends.bpftrace.errors import BtError, SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.expressions import expression, unary
from sonde.frontends.bpftrace.syntax.lexer import BtToken
from sonde.frontends.bpftrace.syntax.stream import Stream
from sonde.frontends.bpftrace.syntax.types import type_name
from sonde.typed import NoReturn

_SIGILS = ("scratch", "map")
"""Kinds of tokens; a statement that begins with one ends before its semicolon."""
_ASSIGNING = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")


def block(stream: Stream) -> tuple[nodes.Statement, ...]:
    """`{ statements }`."""
    start = stream.peek().start
    statements, value = _contents(stream)
    return _unvalued(statements, value, stream.since(start), False)


def _unvalued(
    statements: tuple[nodes.Statement, ...], value: nodes.Expr | None, at: SourceSpan, is_last: bool
) -> tuple[nodes.Statement, ...]:
    """A block, `at`, whose value nobody wants. `is_last`: it may have one."""
    if value is None:
        return statements
    if not isinstance(value, nodes.Ternary) or not value.is_if:
        return (*statements, nodes.Evaluate(value.at, value, False, at, is_last))
    then, otherwise = (
        _unvalued(each.statements, each.value, each.at, True)
        if isinstance(each, nodes.BlockValue)
        else _unvalued((), each, at, True)
        for each in (value.then, value.otherwise)
    )
    return (*statements, nodes.If(value.at, value.test, then, otherwise))


def block_value(stream: Stream) -> nodes.Expr:
    """`{ statements; value }`."""
    start = stream.peek().start
    statements, value = _contents(stream)
    if value is None:
        stream.missing("expression at the end of the block")
    return nodes.BlockValue(stream.since(start), statements, value)


def macro_body(stream: Stream) -> tuple[tuple[nodes.Statement, ...], nodes.Expr | None]:
    """Statements, and the value at their end, if there is one."""
    return _contents(stream)


def _contents(stream: Stream) -> tuple[tuple[nodes.Statement, ...], nodes.Expr | None]:
    stream.expect("{")
    found: list[nodes.Statement] = []
    while not stream.at("}"):
        if stream.accept(";"):
            continue
        if stream.at("if"):
            conditional, value = _if(stream)
            if value is not None and stream.accept("}"):
                return tuple(found), value
            found.append(conditional)
            continue
        token = stream.peek()
        statement = _statement(stream)
        if isinstance(statement, nodes.Evaluate) and not statement.is_discarded and stream.at("}"):
            stream.next()
            return tuple(found), statement.value
        if not stream.at("}") and not _ends_itself(statement):
            stream.expect(";")
            if isinstance(statement, nodes.Evaluate) and token.kind not in _SIGILS:
                statement = statement._replace(whole=stream.since(token.start))
        found.append(statement)
    stream.next()
    return tuple(found), None


def _ends_itself(statement: nodes.Statement) -> bool:
    compound = (nodes.If, nodes.ForRange, nodes.ForMap, nodes.While, nodes.Unroll, nodes.Block)
    return isinstance(statement, compound)


def _statement(stream: Stream) -> nodes.Statement:
    token = stream.peek()
    if token.kind == "name" and token.text in _BEGINNINGS:
        return _BEGINNINGS[token.text](stream)
    if token.text == "{":
        return _block_or_value(stream)
    if token.text == "_" and stream.peek(1).text == "=":
        stream.next()
        stream.next()
        value = expression(stream)
        return nodes.Evaluate(stream.since(token.start), value, True)
    return _simple(stream, token.start)


def _block_or_value(stream: Stream) -> nodes.Statement:
    """A block, also one with a value at its end, which nobody wants."""
    start = stream.peek().start
    statements, value = _contents(stream)
    at = stream.since(start)
    return nodes.Block(at, _unvalued(statements, value, at, True))


def _simple(stream: Stream, start: int) -> nodes.Statement:
    target = expression(stream)
    sign = stream.accept(*_ASSIGNING)
    if sign is None:
        return nodes.Evaluate(stream.since(start), target)
    if not isinstance(target, (nodes.ScratchVariable, nodes.MapName)):
        _refuse(stream, target, sign)
    value = expression(stream)
    return nodes.Assign(stream.since(start), target, sign.text[:-1], value)


def _refuse(stream: Stream, target: nodes.Expr, sign: BtToken) -> NoReturn:
    """For what nothing can be assigned to."""
    of = target
    while isinstance(of, nodes.Member):
        of = of.object
    if of is not target and isinstance(of, (nodes.ScratchVariable, nodes.MapName)):
        value = expression(stream)
        text = "syntax: Tuples and records are immutable once created: assign another value to the whole"
        raise BtError(text, target.at.to(value.at))
    stream.fail(f"syntax: expected ';', not '{sign.text}'", sign)


def _let(stream: Stream) -> nodes.Statement:
    start = stream.next().start
    name = stream.next()
    if name.kind != "scratch":
        stream.fail("syntax: expected variable after 'let'", name)
    declared_at = stream.since(start)
    kind = type_name(stream) if stream.accept(":") else None
    value = expression(stream) if stream.accept("=") else None
    return nodes.Let(stream.since(start), name.text, kind, value, declared_at)


def _if(stream: Stream) -> tuple[nodes.If, nodes.Expr | None]:
    """`if` as a statement and, where all its branches have values at their ends, as a value."""
    start = stream.next().start
    test = _condition(stream)
    then_start = stream.peek().start
    then, value = _contents(stream)
    then_at = stream.since(then_start)
    otherwise: tuple[nodes.Statement, ...] = ()
    other: nodes.Expr | None = None
    if stream.accept("else"):
        if not stream.at("{", "if"):
            stream.fail("syntax: expected '{' or 'if' after 'else'", stream.peek())
        if stream.at("if"):
            nested, other = _if(stream)
            otherwise = (nested,)
        else:
            behind = stream.peek().start
            statements, last = _contents(stream)
            block_at = stream.since(behind)
            otherwise = _unvalued(statements, last, block_at, True)
            other = None if last is None else nodes.BlockValue(block_at, statements, last)
    at = stream.since(start)
    statement = nodes.If(at, test, _unvalued(then, value, then_at, True), otherwise)
    if value is None or other is None:
        return statement, None
    return statement, nodes.Ternary(at, test, nodes.BlockValue(then_at, then, value), other, True)


def _condition(stream: Stream) -> nodes.Expr:
    """Of `if` and `while`: what stands in parentheses is an expression, and neither a tuple nor a record."""
    if not stream.at("("):
        return expression(stream)
    start = stream.next().start
    if stream.peek().kind == "name" and stream.peek(1).text == "=":
        stream.next()
        stream.missing("')'")
    expression(stream)
    if stream.at(","):
        stream.missing("')'")
    stream.jump(start)
    return expression(stream)


def if_value(stream: Stream) -> nodes.Expr:
    """`if test { value } else { value }`."""
    _, value = _if(stream)
    if value is None:
        stream.missing("a value at the end of each branch")
    return value


def _import(stream: Stream) -> nodes.Statement:
    start = stream.next().start
    if stream.peek().kind != "string":
        stream.missing("string")
    stream.next()
    text = "Import statements that are not at the top level are primarily for the standard library"
    raise BtError(text, stream.since(start), 'import "FILE"; stands before probes and macros')


def _for(stream: Stream) -> nodes.Statement:
    start = stream.next().start
    has_brackets = stream.accept("(") is not None
    name = stream.next()
    if name.kind != "scratch":
        stream.fail("syntax: expected variable in for loop", name)
    stream.expect(":")
    first = unary(stream)
    end = unary(stream) if stream.accept("..") else None
    head = stream.since(start)
    if has_brackets:
        stream.expect(")")
    if end is None and not (isinstance(first, nodes.MapName) and first.keys is None):
        stream.missing("map or range in for loop")
    body = block(stream)
    if end is None:
        return nodes.ForMap(stream.since(start), name.text, first, body, stream.span(name))
    return nodes.ForRange(head, name.text, first, end, body, stream.span(name), stream.since(start))


def _while(stream: Stream) -> nodes.Statement:
    start = stream.next().start
    test = _condition(stream)
    body = block(stream)
    return nodes.While(stream.since(start), test, body)


def _unroll(stream: Stream) -> nodes.Statement:
    start = stream.next().start
    count = expression(stream)
    body = block(stream)
    return nodes.Unroll(stream.since(start), count, body)


def _jump(stream: Stream) -> nodes.Statement:
    token = stream.next()
    has_value = token.text == "return" and not stream.at(";", "}")
    value = expression(stream) if has_value else None
    behind = stream.peek()
    # Its semicolon is a part of it, and so is the space in front of a brace.
    end = behind.start if behind.text == "}" else behind.end
    return nodes.Jump(stream.source.span(token.start, end), token.text, value)


_BEGINNINGS = {
    "let": _let, "import": _import, "for": _for, "while": _while, "unroll": _unroll, "break": _jump, "continue": _jump,
    "return": _jump,
}  # fmt: skip
