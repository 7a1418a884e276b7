"""Statements that are never run, since one before them always leaves the block: they are warned of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sonde.frontends.bpftrace.errors import BtError, SourceSpan
from sonde.frontends.bpftrace.syntax import nodes
from sonde.typed import Any, NamedTuple

_LOOPS = (nodes.While, nodes.ForRange, nodes.ForMap)
_STATEMENT = "Unreachable statement."
_EXPRESSION = "Unreachable expression; block type is implicitly none."


class _Left(NamedTuple):
    """Whether something always leaves, and what of it is not run, with the place and what is said of it."""

    always: bool
    unreached: tuple[tuple[SourceSpan, str], ...] = ()


def unreachable(items: Sequence[nodes.Item], file: str | None) -> list[BtError]:
    """A warning for the first statement in each block that nothing comes to. What leaves a macro is an error."""
    found: dict[SourceSpan, str] = {}
    for item in items:
        for body, words in _bodies(item):
            found.update(dict(_block(body, None, words).unreached))
    return [BtError(text, span, "", file) for span, text in found.items()]


def _bodies(node: Any) -> Iterator[tuple[tuple[nodes.Statement, ...], tuple[str, ...]]]:
    """What is left as a whole: probes, functions and loops, each with what leaves it."""
    if isinstance(node, (nodes.ProbeItem, nodes.SubprogramItem)):
        yield node.body, ("return",)
    elif isinstance(node, _LOOPS):
        yield node.body, ("return", "break", "continue")
    if isinstance(node, tuple):
        for each in node:
            yield from _bodies(each)


def _block(body: Sequence[nodes.Statement], value: nodes.Expr | None, words: tuple[str, ...]) -> _Left:
    """What follows a statement that leaves counts by itself: a block is only left where that leaves, too."""
    noted: list[tuple[SourceSpan, str]] = []
    for place, each in enumerate(body):
        left = _leaves(each, words)
        noted += left.unreached
        if not left.always:
            continue
        rest = body[place + 1 :]
        if rest:
            noted.append(_named(rest[0]))
        if value is not None:
            noted.append((value.at, _EXPRESSION))
        if not rest and value is None:
            return _Left(True, tuple(noted))
        behind = _block(rest, value, words)
        return _Left(behind.always, (*noted, *behind.unreached))
    last = _Left(False) if value is None else _leaves(value, words)
    return _Left(last.always, (*noted, *last.unreached))


def _named(node: nodes.Statement) -> tuple[SourceSpan, str]:
    if isinstance(node, nodes.Evaluate):
        if node.is_last:
            return node.value.at, _EXPRESSION
        return node.whole or node.at, _STATEMENT
    return node.whole if isinstance(node, nodes.ForRange) else node.at, _STATEMENT


def _leaves(node: Any, words: tuple[str, ...]) -> _Left:
    """Whether a node always leaves what the words are for."""
    if isinstance(node, nodes.Jump):
        return _Left(node.word in words)
    if isinstance(node, nodes.Call) and node.name == "exit" and len(node.arguments) <= 1:
        return _Left("return" in words)
    found = _OF_NODES.get(type(node))
    if found is not None:
        return found(node, words)
    return _any(node if isinstance(node, tuple) else (), words)


def _any(parts: Sequence[Any], words: tuple[str, ...]) -> _Left:
    """One of them leaves, as all are come to."""
    all_ = [_leaves(each, words) for each in parts]
    return _Left(any(each.always for each in all_), tuple(note for each in all_ for note in each.unreached))


def _either(test: Any, then: _Left, otherwise: _Left, words: tuple[str, ...]) -> _Left:
    first = _leaves(test, words)
    always = first.always or (then.always and otherwise.always)
    return _Left(always, (*first.unreached, *then.unreached, *otherwise.unreached))


def _if(node: nodes.If, words: tuple[str, ...]) -> _Left:
    return _either(node.test, _block(node.then, None, words), _block(node.otherwise, None, words), words)


def _ternary(node: nodes.Ternary, words: tuple[str, ...]) -> _Left:
    then = _Left(False) if node.then is None else _leaves(node.then, words)
    return _either(node.test, then, _leaves(node.otherwise, words), words)


def _while(node: nodes.While, words: tuple[str, ...]) -> _Left:
    """A loop that has no end of its own is left by what leaves the probe alone."""
    test = _leaves(node.test, words)
    body = _block(node.body, None, ("return",)) if "return" in words else _Left(False)
    return _Left(test.always or body.always, (*test.unreached, *body.unreached))


_OF_NODES: dict[type, Callable[[Any, tuple[str, ...]], _Left]] = {
    nodes.If: _if,
    nodes.Ternary: _ternary,
    nodes.While: _while,
    nodes.ForRange: lambda node, words: _any((node.start, node.end), words),
    nodes.ForMap: lambda node, words: _leaves(node.map, words),
    nodes.Block: lambda node, words: _block(node.body, None, words),
    nodes.BlockValue: lambda node, words: _block(node.statements, node.value, words),
    nodes.Unroll: lambda node, words: _any((node.count, nodes.Block(node.at, node.body)), words),
}
