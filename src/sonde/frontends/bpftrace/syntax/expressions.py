"""Expressions, by precedence as in C."""

from __future__ import annotations

from sonde.frontends.bpftrace.errors import BtError, SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.lexer import number_of, text_of
from sonde.frontends.bpftrace.syntax.stream import Stream
from sonde.frontends.bpftrace.syntax.types import is_cast, is_type, type_name

_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
_LARGEST_INT64 = (1 << 63) - 1


def expression(stream: Stream) -> nodes.Expr:
    start = stream.peek().start
    test = _binary(stream, 0)
    if not stream.accept("?"):
        return test
    then = None if stream.at(":") else expression(stream)
    stream.expect(":")
    otherwise = expression(stream)
    return nodes.Ternary(test.at.to(stream.since(start)), test, then, otherwise)


def type_or_expression(stream: Stream) -> nodes.Expr | nodes.TypeName:
    begins_type = is_type(stream) and (stream.peek(1).text != "(" or stream.at("typeof"))
    return type_name(stream) if begins_type else expression(stream)


def _binary(stream: Stream, level: int) -> nodes.Expr:
    """What stands in parentheses is marked without them, and so is what it begins."""
    if level == len(_LEVELS):
        return unary(stream)
    start = stream.peek().start
    left = _binary(stream, level + 1)
    while sign := stream.accept(*_LEVELS[level]):
        right = _binary(stream, level + 1)
        left = nodes.Binary(left.at.to(stream.since(start)), sign.text, left, right, stream.span(sign))
    return left


def unary(stream: Stream) -> nodes.Expr:
    start = stream.peek().start
    if sign := stream.accept("-", "+", "~", "!", "*", "&"):
        behind = stream.peek()
        operand = unary(stream)
        if sign.text == "&" and not isinstance(
            operand, (nodes.ScratchVariable, nodes.MapName, nodes.Member, nodes.Index)
        ):
            text = "syntax: address-of operator (&) can only be used on a map or variable"
            stream.fail(text, behind)
        if sign.text == "-" and isinstance(operand, nodes.Number) and operand.value <= _LARGEST_INT64 + 1:
            return nodes.Number(stream.since(start), -operand.value)
        return nodes.Unary(stream.since(start), sign.text, operand)
    if sign := stream.accept("++", "--"):
        behind = stream.peek()
        target = unary(stream)
        if not isinstance(target, _INCREMENTED):
            stream.fail(_NOT_INCREMENTED, behind)
        return nodes.Increment(stream.since(start), target, 1 if sign.text == "++" else -1, True)
    if stream.at("(") and _begins_cast(stream):
        stream.next()
        kind = type_name(stream)
        stream.expect(")")
        return nodes.Cast(stream.since(start), kind, unary(stream))
    return _postfix(stream, start)


def _begins_cast(stream: Stream) -> bool:
    """Look behind the parenthesis without taking it."""
    kept = stream.offset
    stream.next()
    found = is_cast(stream)
    stream.jump(kept)
    return found


def _postfix(stream: Stream, start: int) -> nodes.Expr:
    found = _primary(stream)
    while True:
        if stream.at(".", "->"):
            if isinstance(found, (nodes.Number, nodes.StringLiteral)):
                stream.missing("';'")
            is_arrow = stream.next().text == "->"
            found = _member(stream, start, found, is_arrow)
        elif stream.accept("["):
            subscript = expression(stream)
            stream.expect("]")
            found = nodes.Index(found.at.to(stream.since(start)), found, subscript)
        elif sign := stream.accept("++", "--"):
            if not isinstance(found, _INCREMENTED):
                stream.fail(_NOT_INCREMENTED, sign)
            found = nodes.Increment(stream.since(start), found, 1 if sign.text == "++" else -1, False)
        else:
            return found


def _member(stream: Stream, start: int, of: nodes.Expr, is_arrow: bool) -> nodes.Expr:
    if stream.peek().kind == "number":
        token = stream.next()
        # `.1.2` is two members, and no number has a point.
        return nodes.Member(
            of.at.to(stream.since(start)), of, str(number_of(token.text, stream.span(token))[0]), is_arrow
        )
    name = stream.name().text
    return nodes.Member(of.at.to(stream.since(start)), of, name, is_arrow)


def _primary(stream: Stream) -> nodes.Expr:
    token = stream.peek()
    if token.kind == "op":
        if token.text == "(":
            return _parenthesized(stream)
        if token.text == "{":
            return stream.grammar.block_value(stream)
        stream.missing("expression")
    if not token.kind:
        stream.missing("expression")
    if token.kind == "name":
        return _named(stream)
    stream.next()
    span = stream.span(token)
    if token.kind == "number":
        value, is_unsigned = number_of(token.text, span)
        return nodes.Number(span, value, is_unsigned)
    if token.kind == "string":
        return _text(stream, span, text_of(token.text, span))
    if token.kind == "scratch":
        return nodes.ScratchVariable(span, token.text)
    if token.kind == "positional":
        return nodes.Positional(span, 0 if token.text == "$#" else _position(token.text, span))
    return _map(stream, token.start, token.text)


def _position(text: str, span: SourceSpan) -> int:
    """The number of a positional parameter."""
    number = int(text[1:]) if len(text) <= len(str(_LARGEST_INT64)) + 1 else 0
    if not 0 < number <= _LARGEST_INT64:
        raise BtError(f"syntax: param {text} is out of integer range [1, {_LARGEST_INT64}]", span)
    return number


_INCREMENTED = (nodes.ScratchVariable, nodes.MapName)
_NOT_INCREMENTED = "syntax: increment/decrement requires a variable or map"


def _text(stream: Stream, span: SourceSpan, value: bytes) -> nodes.StringLiteral:
    """Strings behind each other are one."""
    start = stream.since(stream.offset)
    while stream.peek().kind == "string":
        token = stream.next()
        value += text_of(token.text, stream.span(token))
        start = stream.span(token)
        span = span.to(start)
    return nodes.StringLiteral(span, value)


def _map(stream: Stream, start: int, name: str) -> nodes.MapName:
    if not stream.at("[") or stream.peek().start != stream.offset:
        return nodes.MapName(stream.since(start), name)
    stream.next()
    keys = _items(stream, "]")
    return nodes.MapName(stream.since(start), name, keys)


def _items(stream: Stream, closing: str) -> tuple[nodes.Expr, ...]:
    """Expressions up to a bracket, which is taken."""
    found = [expression(stream)]
    while stream.accept(","):
        if stream.at(closing):
            break
        found.append(expression(stream))
    stream.expect(closing)
    return tuple(found)


def _parenthesized(stream: Stream) -> nodes.Expr:
    """An expression, a tuple or a record."""
    start = stream.next().start
    if stream.accept(")"):
        return nodes.Tuple(stream.since(start), ())
    if stream.peek().kind == "name" and stream.peek(1).text == "=":
        return _record(stream, start)
    first = expression(stream)
    if stream.accept(")"):
        return first
    if not stream.accept(","):
        stream.missing("')'")
    items = [first]
    while not stream.at(")"):
        items.append(expression(stream))
        if not stream.accept(","):
            break
    stream.expect(")")
    return nodes.Tuple(stream.since(start), tuple(items))


def _record(stream: Stream, start: int) -> nodes.Expr:
    names, items = [], []
    while not stream.at(")"):
        name = stream.name()
        stream.expect("=")
        items.append(expression(stream))
        if name.text in names:
            text = f"syntax: Named argument list already contains name: {name.text}"
            raise BtError(text, stream.since(name.start))
        names.append(name.text)
        if not stream.accept(","):
            break
        if stream.at(")"):
            stream.missing("identifier")
    stream.expect(")")
    return nodes.RecordExpression(stream.since(start), tuple(names), tuple(items))


def _named(stream: Stream) -> nodes.Expr:
    if stream.at("if"):
        return stream.grammar.if_value(stream)
    token = stream.next()
    if token.text == "comptime":
        operand = unary(stream)
        return nodes.Comptime(stream.since(token.start), operand)
    if token.text == "offsetof" and stream.at("("):
        return _offset(stream, token.start)
    if not stream.accept("("):
        return nodes.Name(stream.span(token), token.text)
    arguments: list[nodes.Expr | nodes.TypeName] = []
    while not stream.at(")"):
        arguments.append(type_first(stream) if token.text in _OF_TYPES else type_or_expression(stream))
        if not stream.accept(","):
            break
    stream.expect(")")
    return nodes.Call(stream.since(token.start), token.text, tuple(arguments))


_OF_TYPES = ("sizeof", "typeof", "typeinfo", "offsetof")


def type_first(stream: Stream) -> nodes.Expr | nodes.TypeName:
    """Where types are looked at: a name with `*` or a length behind it is one, known or not."""
    token, behind = stream.peek(), stream.peek(1)
    is_pointer = behind.text == "*" and stream.peek(2).text in (")", ",", "*", "[")
    is_array = behind.text == "[" and stream.peek(2).kind == "number" and stream.peek(3).text == "]"
    if token.kind == "name" and (is_pointer or is_array):
        return type_name(stream)
    return type_or_expression(stream)


def _offset(stream: Stream, start: int) -> nodes.Expr:
    stream.expect("(")
    of = type_first(stream)
    stream.expect(",")
    path = [stream.name().text]
    while stream.accept("."):
        path.append(stream.name().text)
    stream.expect(")")
    return nodes.Offset(stream.since(start), of, tuple(path))
