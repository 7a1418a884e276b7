"""Expressions, by recursive descent; binary operators by a stack of operators, so that they cost no recursion."""

from __future__ import annotations

from sonde.frontends.d.declarations import type_name
from sonde.frontends.d.lexer import AGGREGATION, NAME, NUMBER, STRING, Token
from sonde.frontends.d.stream import MAX_HEIGHT, QUALIFIERS, TYPE_WORDS, TokenStream, split_scope, too_deep
from sonde.frontends.d.syntax import (
    Aggregation,
    Assign,
    Binary,
    Call,
    Cast,
    Comma,
    Conditional,
    Expr,
    Identifier,
    Increment,
    Index,
    Member,
    Offsetof,
    ScopedVariable,
    SizeofExpr,
    SizeofType,
    Stringof,
    TypeName,
    Unary,
    Xlate,
)
from sonde.typed import Any

PRECEDENCE = {
    "||": 1, "^^": 2, "&&": 3, "|": 4, "^": 5, "&": 6, "==": 7, "!=": 7, "<": 8, "<=": 8, ">": 8, ">=": 8,
    "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "%": 11,
}  # fmt: skip
_ASSIGNMENTS = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})
_UNARY = frozenset("+-~!*&")
# What can begin the operand of a cast.
_OPERAND_STARTS = _UNARY | {
    NAME, NUMBER, STRING, AGGREGATION, "(", "++", "--", "self", "this", "sizeof", "stringof", "offsetof", "xlate",
}  # fmt: skip


def expression(stream: TokenStream) -> Expr:
    """A whole expression, commas included, of a depth that one can walk with recursion."""
    first = stream.count
    result = _comma(stream)
    return _of_walkable_depth(result, stream.count - first)


def assignment(stream: TokenStream) -> Expr:
    """An expression without a comma operator at its top."""
    first = stream.count
    result = _assignment(stream)
    return _of_walkable_depth(result, stream.count - first)


def constant(stream: TokenStream) -> Expr:
    """An expression with neither comma nor assignment at its top, as enumerators and array sizes have."""
    first = stream.count
    result = _conditional(stream, _unary(stream))
    return _of_walkable_depth(result, stream.count - first)


def _of_walkable_depth(result: Expr, tokens: int) -> Expr:
    """Refuse trees that long chains like `a + a + a ...` make too deep; few tokens cannot make one."""
    if tokens > MAX_HEIGHT:
        pending: list[tuple[Any, int]] = [(result, 1)]
        while pending:
            node, depth = pending.pop()
            if depth > MAX_HEIGHT:
                raise too_deep(result.position)
            pending += [(child, depth + 1) for child in node if isinstance(child, tuple)]
    return result


def _comma(stream: TokenStream) -> Expr:
    left = _assignment(stream)
    while stream.at(","):
        position = stream.token.position
        stream.advance()
        right = _assignment(stream)
        left = Comma(stream.place(position), left, right)
    return left


def _assignment(stream: TokenStream) -> Expr:
    left = _unary(stream)
    operator = stream.token
    if operator.kind not in _ASSIGNMENTS:
        return _conditional(stream, left)
    stream.advance()
    stream.enter()
    value = _assignment(stream)
    stream.leave()
    return Assign(stream.place(operator.position), operator.kind, left, value)


def _conditional(stream: TokenStream, first: Expr) -> Expr:
    """`test ? then : otherwise` or less, where the first operand has been read."""
    test = _binary(stream, first)
    if not stream.at("?"):
        return test
    position = stream.token.position
    stream.advance()
    stream.enter()
    then = _comma(stream)
    stream.expect(":")
    otherwise = _conditional(stream, _unary(stream))
    stream.leave()
    return Conditional(stream.place(position), test, then, otherwise)


def _binary(stream: TokenStream, first: Expr) -> Expr:
    operands = [first]
    operators: list[Token] = []
    while True:
        precedence = PRECEDENCE.get(stream.token.kind, 0)
        while operators and PRECEDENCE[operators[-1].kind] >= precedence:
            operator, right = operators.pop(), operands.pop()
            operands[-1] = Binary(stream.place(operator.position), operator.kind, operands[-1], right)
        if not precedence:
            return operands[0]
        operators.append(stream.token)
        stream.advance()
        operands.append(_unary(stream))


def _unary(stream: TokenStream) -> Expr:
    stream.enter()
    token = stream.token
    kind = token.kind
    result: Expr
    if kind in _UNARY:
        stream.advance()
        operand = _unary(stream)
        result = Unary(stream.place(token.position), kind, operand)
    elif kind in ("++", "--"):
        stream.advance()
        operand = _unary(stream)
        result = Increment(stream.place(token.position), kind, operand, True)
    elif kind == "sizeof":
        result = _sizeof(stream)
    elif kind == "stringof":
        stream.advance()
        operand = _unary(stream)
        result = Stringof(stream.place(token.position), operand)
    elif kind == "(" and _is_cast(stream):
        target = _parenthesized_type(stream)
        operand = _unary(stream)
        result = Cast(stream.place(token.position), target, operand)
    else:
        result = _postfix(stream)
    stream.leave()
    return result


def _is_cast(stream: TokenStream) -> bool:
    """Whether the current parenthesis holds a type.

    A name of a type can also be that of a variable; what follows decides: `(key)->x` and `(key + 1)` hold none.
    """
    first = stream.peek()
    if first.kind in TYPE_WORDS:
        return True
    second = _after_typedef_name(stream, first)
    if second != ")":
        return second == "type"
    return stream.peek(3).kind in _OPERAND_STARTS


def _after_typedef_name(stream: TokenStream, first: Token) -> str:
    """What a parenthesis holds that begins with `first`: "" no type, ")" only the name of one, "type" more of it."""
    if first.kind != NAME or not stream.is_type(first.text):
        return ""
    second = stream.peek(2).kind
    if second == "*":
        return "type" if stream.peek(3).kind in QUALIFIERS | {")", "*", "(", "["} else ""
    if second == "(":
        return "type" if stream.peek(3).kind == "*" else ""
    return ")" if second == ")" else "type" if second == NAME or second in TYPE_WORDS else ""


def _parenthesized_type(stream: TokenStream) -> TypeName:
    stream.expect("(")
    result = type_name(stream)
    stream.expect(")")
    return result


def _sizeof(stream: TokenStream) -> Expr:
    position = stream.expect("sizeof").position
    if stream.at("("):
        first = stream.peek()
        is_array = stream.starts_type(first) and stream.peek(2).kind == "["
        if first.kind in TYPE_WORDS or is_array or _after_typedef_name(stream, first):
            return SizeofType(position, _parenthesized_type(stream))
    operand = _unary(stream)
    return SizeofExpr(stream.place(position), operand)


def _postfix(stream: TokenStream) -> Expr:
    result = _primary(stream)
    while True:
        token = stream.token
        kind = token.kind
        if kind in ("->", "."):
            stream.advance()
            result = Member(token.position, result, stream.expect_member_name(), kind == "->")
        elif kind == "[":
            result = Index(token.position, result, _arguments(stream, "]"))
        elif kind == "(":
            stream.advance()
            arguments = () if stream.accept(")") else _rest_of_arguments(stream, ")")
            result = Call(result.position, result, arguments)
        elif kind in ("++", "--"):
            stream.advance()
            result = Increment(token.position, kind, result, False)
        else:
            return result


def _arguments(stream: TokenStream, closing: str) -> tuple[Expr, ...]:
    """At least one expression, between brackets."""
    stream.advance()
    return _rest_of_arguments(stream, closing)


def _rest_of_arguments(stream: TokenStream, closing: str) -> tuple[Expr, ...]:
    listed = [_assignment(stream)]
    while stream.accept(","):
        listed.append(_assignment(stream))
    stream.expect(closing)
    return tuple(listed)


def _primary(stream: TokenStream) -> Expr:
    token = stream.token
    kind = token.kind
    if kind == NAME:
        return _identifier(stream)
    if token.value is not None:
        stream.advance()
        return token.value
    if kind == "(":
        stream.advance()
        inner = _comma(stream)
        stream.expect(")")
        return inner
    if kind in ("self", "this"):
        return _scoped(stream)
    if kind == AGGREGATION:
        stream.advance()
        keys = _arguments(stream, "]") if stream.at("[") else None
        return Aggregation(token.position, token.text[1:] or "_", keys)
    if kind == "offsetof":
        return _offsetof(stream)
    if kind == "xlate":
        return _xlate(stream)
    raise stream.error()


def _identifier(stream: TokenStream) -> Expr:
    token = stream.token
    stream.advance()
    if stream.at(NAME) and stream.is_type(token.text):
        # `int_t x;` inside a clause: it is the type that does not belong there.
        raise stream.error(token)
    name, module = split_scope(token.text)
    return Identifier(token.position, name, module)


def _scoped(stream: TokenStream) -> Expr:
    token = stream.token
    stream.advance()
    if not stream.accept("->"):
        return Identifier(token.position, token.text)
    return ScopedVariable(token.position, token.text, stream.expect_member_name())


def _offsetof(stream: TokenStream) -> Expr:
    position = stream.expect("offsetof").position
    stream.expect("(")
    if stream.at(NAME) and not stream.is_type(stream.token.text):
        # DTrace shows the line from here on.
        raise stream.error(stream.token._replace(text=stream.lexer.rest_of_line(stream.token)))
    of = type_name(stream)
    stream.expect(",")
    member = stream.expect_member_name()
    stream.expect(")")
    return Offsetof(position, of, member)


def _xlate(stream: TokenStream) -> Expr:
    position = stream.expect("xlate").position
    stream.expect("<")
    target = type_name(stream)
    stream.expect(">")
    stream.expect("(")
    operand = _comma(stream)
    stream.expect(")")
    return Xlate(position, target, operand)
