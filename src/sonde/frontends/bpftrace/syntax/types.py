"""Names of types, as casts, sizeof and declarations have them."""

from __future__ import annotations

from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.lexer import BtToken, number_of
from sonde.frontends.bpftrace.syntax.stream import Stream

TAGGED = ("struct", "union", "enum")
_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
KERNEL_INTEGERS = {
    f"{under}{letter}{bits}": f"{sign}int{bits}"
    for under in ("", "__") for letter, sign in (("s", ""), ("u", "u")) for bits in (8, 16, 32, 64)
}  # fmt: skip
"""The kernel's names of integers, with those of the language."""
_C_WORDS = ("unsigned", "signed", "char", "short", "int", "long", "const", "volatile", "_Bool", "__user", "__kernel")
BUILTIN = frozenset({
    *_INTEGERS, *KERNEL_INTEGERS, *_C_WORDS,
    "bool", "void", "string", "buffer", "inet", "mac_address", "timestamp", "usym_t", "ksym_t",
    "ustack_t", "kstack_t", "count_t", "sum_t", "min_t", "max_t", "avg_t", "stats_t", "hist_t", "lhist_t",
})  # fmt: skip


def is_type(stream: Stream, number: int = 0) -> bool:
    """Whether the token so far ahead begins the name of a type."""
    token = stream.peek(number)
    return token.kind == "name" and (
        token.text in TAGGED or token.text in BUILTIN or token.text in stream.types or token.text.endswith("_t")
        or token.text == "typeof"
    )  # fmt: skip


def is_cast(stream: Stream) -> bool:
    """Behind an opening parenthesis: whether this is the type of a cast, known or not."""
    if is_type(stream):
        return stream.peek(1).text != "(" or stream.peek().text == "typeof"
    number = 1
    if stream.peek().kind != "name":
        return False
    while stream.peek(number).text == "*":
        number += 1
    if stream.peek(number).text != ")":
        return False
    # Behind a value in parentheses there is a sign, never another value.
    return number > 1 or stream.peek(number + 1).kind in ("number", "string", "scratch", "map", "name", "positional")


def type_name(stream: Stream) -> nodes.TypeName:
    start = stream.peek().start
    if stream.at("typeof"):
        return _typeof(stream)
    words = [stream.name().text]
    if words[0] in TAGGED:
        words.append(stream.name().text)
    elif words[0] in _C_WORDS:
        while stream.peek().kind == "name" and stream.peek().text in (*_C_WORDS, *stream.types):
            words.append(stream.next().text)
        if words[-1] in ("const", "volatile") and stream.at(*TAGGED):
            words = [stream.next().text, stream.name().text]
        elif all(word in ("const", "volatile") for word in words):
            words.append(stream.name().text)
    suffixes = _suffixes(stream)
    return nodes.TypeName(stream.since(start), " ".join(words), suffixes)


def _typeof(stream: Stream) -> nodes.TypeName:
    start = stream.next().start
    stream.expect("(")
    of = stream.grammar.type_or_expression(stream)
    stream.expect(")")
    return nodes.TypeName(stream.since(start), "", _suffixes(stream), of)


def _suffixes(stream: Stream) -> tuple[str | int, ...]:
    found: list[str | int] = []
    while True:
        if stream.accept("*"):
            found.append("*")
            while stream.accept("const", "volatile", "__user", "__kernel", "__percpu", "__rcu"):
                continue
        elif stream.at("[") and (stream.peek(1).kind == "number" or stream.peek(1).text == "]"):
            stream.next()
            found.append(_length(stream, stream.next()) if not stream.at("]") else -1)
            stream.expect("]")
        else:
            return tuple(found)


def _length(stream: Stream, token: BtToken) -> int:
    return number_of(token.text, stream.span(token))[0]
