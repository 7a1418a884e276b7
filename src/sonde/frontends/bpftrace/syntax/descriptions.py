"""Descriptions of probes, which are text up to a predicate or a block: paths and globs are no tokens."""

from __future__ import annotations

from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.lexer import skip_space
from sonde.frontends.bpftrace.syntax.stream import Stream

_OF_FILES = ("uprobe", "uretprobe", "usdt", "u", "ur", "U", "iter", "it")
"""Types of probes whose descriptions have paths in them."""


_MOST_DIGITS = 10
"""A command line has fewer arguments than numbers of so many digits count."""


def attach_points(stream: Stream) -> tuple[nodes.AttachPoint, ...]:
    """All that stand before one block, behind which the stream goes on with the predicate or the block."""
    found = []
    while True:
        start = skip_space(stream.source, stream.offset)
        point, end = _one(stream, start)
        found.append(point)
        stream.jump(end)
        if not stream.at(","):
            return tuple(found)
        stream.next()
        if stream.at("{") or stream.at("/"):
            # The comma may stand behind the last one, too.
            return tuple(found)


def _one(stream: Stream, start: int) -> tuple[nodes.AttachPoint, int]:
    text, offset = "", start
    source = stream.source.text
    while offset < len(source):
        character = source[offset]
        if character == '"':
            end = source.find('"', offset + 1)
            if end < 0:
                stream.fail("syntax: unterminated string", stream.peek())
            text, offset = text + source[offset + 1 : end], end + 1
            continue
        if character in ",{" or (character == "/" and _is_predicate(text, source, offset)):
            break
        if character.isspace():
            if not _goes_on(text, source, skip_space(stream.source, offset)):
                break
            offset = skip_space(stream.source, offset)
            continue
        if character == "$":
            number = offset + 1
            while number < len(source) and source[number].isdigit():
                number += 1
            text, offset = text + _argument(stream, source[offset + 1 : number]), number
            continue
        text, offset = text + character, offset + 1
    if not text:
        stream.missing("a probe")
    while source[offset - 1].isspace():
        # Behind a colon it might have gone on.
        offset -= 1
    return nodes.AttachPoint(stream.source.span(start, offset), text), offset


def _argument(stream: Stream, digits: str) -> str:
    number = int(digits or "0") if len(digits) < _MOST_DIGITS else 0
    return stream.arguments[number - 1] if 0 < number <= len(stream.arguments) else "0"


def _is_predicate(text: str, source: str, offset: int) -> bool:
    """Whether a slash ends the description."""
    kind = text.partition(":")[0]
    if kind in _OF_FILES or "*" in kind:
        return source[offset - 1].isspace() and not text.endswith(":")
    return True


def _goes_on(text: str, source: str, offset: int) -> bool:
    """Whether a description that a blank has interrupted goes on: behind a colon."""
    return text.endswith((":", "+")) or source[offset : offset + 1] in (":", "+")
