"""A program's text as words, whatever is wrong with it, and which brackets belong together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sonde.typed import NamedTuple

NAME, NUMBER, STRING, CHARACTER, OPERATOR = "name", "number", "string", "character", "operator"
MACRO, AGGREGATION, OTHER = "macro", "aggregation", "other"

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OPENING = {closing: opening for opening, closing in _CLOSING.items()}

_PASSED_OVER = re.compile(r"(?:[ \t\r\f\v\n]+|/\*.*?(?:\*/|\Z)|(?m:^[ \t]*#[^\n]*))+", re.DOTALL)
_WORD = re.compile(
    r"""
      (?P<name>[a-zA-Z_`][0-9a-zA-Z_`]*)
    | (?P<number>(?:0[xX][0-9a-fA-F]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)[a-zA-Z]*)
    | (?P<string>"[^"\\\n]*(?:\\.[^"\\\n]*)*"?)
    | (?P<character>'[^'\\\n]*(?:\\.[^'\\\n]*)*'?)
    | (?P<aggregation>@(?:[a-zA-Z_][0-9a-zA-Z_]*)?)
    | (?P<macro>\$\$?[0-9a-zA-Z_]*)
    | (?P<operator><<= | >>= | \.\.\. | -> | \+\+ | -- | << | >> | && | \|\| | \^\^ | [-+*/%&|^<>=!:]= |
                   [-+*/%&|^~!<>=?:;,.()\[\]{}])
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Span(NamedTuple):
    """A part of a text: offsets of its first character and of the one behind its last."""

    start: int
    end: int


class Word(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


def words(text: str) -> list[Word]:
    """The words in their order, without comments and control lines; a character that begins no word is one."""
    found, offset = [], 0
    while offset < len(text):
        passed = _PASSED_OVER.match(text, offset)
        if passed:
            offset = passed.end()
            continue
        match = _WORD.match(text, offset)
        assert match is not None
        assert match.lastgroup is not None
        found.append(Word(match.lastgroup, match[0], offset, match.end()))
        offset = match.end()
    return found


class Brackets(NamedTuple):
    """Indexes of words: `partner` maps each bracket to the other of its pair, the rest have none."""

    partner: Mapping[int, int]
    unclosed: Sequence[int]
    extra: Sequence[int]


def brackets(listed: Sequence[Word]) -> Brackets:
    """Pairs the brackets; one that is closed by another's closing bracket is unclosed."""
    partner: dict[int, int] = {}
    unclosed: list[int] = []
    extra: list[int] = []
    opened: list[int] = []
    waiting = dict.fromkeys(_CLOSING, 0)
    for index, word in enumerate(listed):
        if word.text in _CLOSING:
            opened.append(index)
            waiting[word.text] += 1
        elif word.text in _OPENING:
            opening = _OPENING[word.text]
            if not waiting[opening]:
                extra.append(index)
                continue
            while listed[opened[-1]].text != opening:
                unclosed.append(opened.pop())
                waiting[listed[unclosed[-1]].text] -= 1
            partner[opened[-1]], partner[index] = index, opened[-1]
            opened.pop()
            waiting[opening] -= 1
    return Brackets(partner, sorted(unclosed + opened), extra)


def closing(opening: str) -> str:
    return _CLOSING[opening]
