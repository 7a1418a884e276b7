"""The items of a program: C definitions, settings, macros, functions and probes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sonde.frontends.bpftrace.errors import BtError
from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.descriptions import attach_points
from sonde.frontends.bpftrace.syntax.expressions import expression, type_first
from sonde.frontends.bpftrace.syntax.lexer import BtToken, number_of, skip_space, text_of
from sonde.frontends.bpftrace.syntax.statements import block, block_value, if_value, macro_body
from sonde.frontends.bpftrace.syntax.stream import Grammar, Stream
from sonde.frontends.bpftrace.syntax.types import TAGGED, type_name

_TYPEDEF = r"(\w+)\s*(?:\[[^\]]*\])*\s*;\s*$|\(\s*\*\s*(\w+)\s*\)\s*\("


def stream_of(text: str, arguments: Sequence[str] = ()) -> Stream:
    """The tokens of a program; `arguments` are $1 ..."""
    return Stream(text, Grammar(type_first, block_value, if_value), arguments)


def items(stream: Stream) -> Iterator[nodes.Item]:
    """Everything up to the end of the text."""
    if stream.source.text.startswith("#!"):
        stream.jump(_line_end(stream, 0))
    place, had_settings = _DEFINITIONS, False
    while stream.peek().kind:
        token = stream.peek()
        if token.text == ";":
            stream.next()
        elif token.text == "#" or (token.kind == "name" and token.text in (*TAGGED, "typedef")):
            found = _directive(stream) if token.text == "#" else _definition(stream)
            if place > _DEFINITIONS:
                raise BtError(f"syntax: C definitions {_TOO_LATE}", found.at)
            yield found
        elif token.text in ("config", "import"):
            if place > _SETTINGS:
                what = "config" if token.text == "config" else "root imports"
                stream.fail(f"syntax: {what} {_TOO_LATE}", token)
            if token.text == "config" and had_settings:
                stream.fail("syntax: duplicate config block", token)
            place, had_settings = _SETTINGS, had_settings or token.text == "config"
            yield from _settings(stream) if token.text == "config" else (_import(stream),)
        else:
            place = _OTHERS
            yield _item(stream, token)


_DEFINITIONS, _SETTINGS, _OTHERS = range(3)
"""The order in which items of a program stand."""
_TOO_LATE = "must appear before probes and functions"


def _item(stream: Stream, token: BtToken) -> nodes.Item:
    if token.text == "let":
        return _map_declaration(stream)
    if token.text == "macro" and stream.peek(1).kind == "name":
        return _macro(stream)
    if token.text == "fn" and stream.peek(1).kind == "name":
        return _function(stream)
    return _probe(stream)


def _line_end(stream: Stream, offset: int) -> int:
    found = stream.source.text.find("\n", offset)
    return len(stream.source.text) if found < 0 else found


def _directive(stream: Stream) -> nodes.Item:
    start = stream.peek().start
    end = _line_end(stream, start)
    while stream.source.text[end - 1 : end] == "\\" and end < len(stream.source.text):
        end = _line_end(stream, end + 1)
    stream.jump(end)
    return nodes.CDefinition(stream.source.span(start, end), stream.source.text[start:end])


def _definition(stream: Stream) -> nodes.Item:
    """A C declaration, up to its semicolon or what ends it without one."""
    start, depth = stream.peek().start, 0
    is_typedef = stream.at("typedef")
    had_body = False
    while True:
        token = stream.peek()
        if not token.kind:
            if depth or not had_body:
                stream.missing("the end of the definition")
            break
        if not depth and token.text == ";":
            stream.next()
            break
        if not depth and had_body and not is_typedef and not _is_attribute(stream):
            break
        depth += token.text in ("{", "(", "[")
        depth -= token.text in ("}", ")", "]")
        had_body = had_body or token.text == "}"
        stream.next()
    text = stream.source.text[start : stream.offset]
    if is_typedef and (found := re.search(_TYPEDEF, text)):
        stream.types |= {found[1] or found[2]}
    return nodes.CDefinition(stream.since(start), text)


def _is_attribute(stream: Stream) -> bool:
    """Whether the definition goes on behind its body."""
    if stream.at("__attribute__"):
        return True
    return stream.peek().text == "("


def _settings(stream: Stream) -> Iterator[nodes.ConfigSetting]:
    stream.next()
    stream.expect("=")
    stream.expect("{")
    while not stream.accept("}"):
        if stream.accept(";"):
            continue
        start = stream.peek().start
        if stream.peek().kind != "name":
            stream.missing("config key")
        name = stream.name().text
        stream.expect("=")
        token = stream.next()
        if token.kind not in ("name", "number", "string"):
            stream.fail("syntax: expected a value", token)
        value = text_of(token.text, stream.span(token)).decode() if token.kind == "string" else token.text
        yield nodes.ConfigSetting(stream.since(start), name, value)
        if not stream.at("}"):
            stream.expect(";")


def _import(stream: Stream) -> nodes.Item:
    start = stream.next().start
    token = stream.next()
    if token.kind != "string":
        stream.fail("syntax: expected string after 'import'", token)
    path = text_of(token.text, stream.span(token)).decode(errors="surrogateescape")
    stream.expect(";")
    return nodes.Import(stream.since(start), path)


def _map_declaration(stream: Stream) -> nodes.Item:
    token = stream.next()
    start, name = token.start, stream.next()
    if name.kind != "map":
        stream.fail("syntax: root-level let statements need to be map declarations, e.g. let @a = hash(2);", token)
    stream.expect("=")
    kind = stream.name().text
    stream.expect("(")
    size = stream.next()
    if size.kind != "number":
        stream.fail("syntax: expected positive integer for map declaration max entries", size)
    stream.expect(")")
    stream.expect(";")
    at = stream.since(start)
    entries, _ = number_of(size.text, stream.span(size))
    return nodes.MapDeclaration(at, name.text, kind, entries)


BUILTINS = frozenset({
    "args", "arg0", "arg1", "arg2", "arg3", "arg4", "arg5", "arg6", "arg7", "arg8", "arg9", "cgroup", "comm", "cpid",
    "cpu", "ctx", "curtask", "elapsed", "func", "gid", "jiffies", "kstack", "ncpus", "nsecs", "numaid", "pid", "probe",
    "rand", "retval", "tid", "uid", "usermode", "username", "ustack",
})  # fmt: skip
"""Variables of the language, which no parameter of a macro may be called by."""


def _macro(stream: Stream) -> nodes.Item:
    start = stream.next().start
    name = stream.next().text
    stream.expect("(")
    parameters: list[str] = []
    while not stream.at(")"):
        token = stream.next()
        if token.kind not in ("name", "scratch", "map"):
            stream.fail("syntax: expected a parameter", token)
        if token.text in BUILTINS:
            stream.fail(f"syntax: builtin '{token.text}' can't be used as a macro argument", token)
        if token.text in parameters:
            kind = {"name": "Ident", "scratch": "Variable", "map": "Map"}[token.kind]
            stream.fail(f"{kind} for macro argument has already been used: {token.text}", token)
        parameters.append(token.text)
        if not stream.accept(","):
            break
    stream.expect(")")
    at = stream.since(start)
    body, value = macro_body(stream)
    return nodes.Macro(at, name, tuple(parameters), body, value)


def _function(stream: Stream) -> nodes.Item:
    start = stream.next().start
    name = stream.next().text
    stream.expect("(")
    parameters = []
    while not stream.at(")"):
        token = stream.next()
        if token.kind != "scratch":
            stream.fail("syntax: expected variable in function argument", token)
        stream.expect(":")
        parameters.append((token.text, type_name(stream)))
        if not stream.accept(","):
            break
    stream.expect(")")
    stream.expect(":")
    returns = type_name(stream)
    at = stream.since(start)
    return nodes.SubprogramItem(at, name, tuple(parameters), returns, block(stream))


def _probe(stream: Stream) -> nodes.Item:
    start = skip_space(stream.source, stream.offset)
    points = attach_points(stream)
    at = stream.since(start)
    predicate, slash = None, stream.accept("/")
    if slash:
        predicate = _predicate(stream)
    predicate_at = stream.since(slash.start if slash else start)
    if not stream.at("{"):
        stream.missing("'{'")
    return nodes.ProbeItem(at, points, predicate, block(stream), predicate_at)


def _predicate(stream: Stream) -> nodes.Expr:
    """An expression up to the slash before the block, which would divide otherwise: the last one before it."""
    start = stream.offset
    end = _closing(stream, start)
    inner = Stream(stream.source.text, stream.grammar, stream.arguments, stream.types)
    inner.limit = end
    inner.jump(start)
    found = expression(inner)
    if inner.peek().kind:
        inner.missing("'/' to close predicate")
    stream.jump(end)
    stream.expect("/")
    return found


def _closing(stream: Stream, start: int) -> int:
    """Where the slash is that a brace follows."""
    probe = Stream(stream.source.text, stream.grammar, stream.arguments, stream.types)
    probe.jump(start)
    while (token := probe.peek()).kind:
        if token.text == "/" and probe.peek(1).text == "{":
            return token.start
        probe.next()
    # Where the predicate's expression ends, the slash is missing.
    probe.jump(start)
    expression(probe)
    return probe.missing("'/' to close predicate")
