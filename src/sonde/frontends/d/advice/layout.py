"""The parts of a program's text: its items, and of each clause the descriptions, the predicate and the statements.

They are found from the words alone, so that they are there for programs that cannot be parsed.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property

from sonde.frontends.d.advice.words import Brackets, Span, Word, brackets, words
from sonde.frontends.d.lexer import DESCRIPTION
from sonde.model.errors import Position
from sonde.typed import NamedTuple

_BEGINS_CLAUSE = re.compile(
    r"^(?:BEGIN|END|ERROR|(?:tick|profile)-[0-9a-z]+|[$*?\w-]*:[^\s;{}()\"]*)(?=[ \t]*(?:$|[,{/]))", re.MULTILINE
)
"""A line that can only be the beginning of a clause, even where a bracket before it is not closed."""

_BLANK = re.compile(r"(?:[ \t\r\f\v\n]+|/\*.*?\*/)*", re.DOTALL)


class Item(NamedTuple):
    """A clause or a declaration. The body is from its brace to the closing one; what there is not is None."""

    span: Span
    descriptions: tuple[Span, ...]
    predicate: Span | None
    body: Span | None


class ProgramLayout:
    """One text and its parts; positions are those of the parser."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words: list[Word] = words(text)
        self.starts = [word.start for word in self.words]
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]

    @cached_property
    def brackets(self) -> Brackets:
        return brackets(self.words)

    @cached_property
    def clause_starts(self) -> list[int]:
        """Offsets of the lines that can only begin a clause."""
        return [match.start() for match in _BEGINS_CLAUSE.finditer(self.text)]

    def offset(self, position: Position) -> int:
        line = min(max(position.line, 1), len(self._lines))
        return min(self._lines[line - 1] + position.column - 1, len(self.text))

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, from 1."""
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def index(self, offset: int) -> int:
        """The number of the word at an offset or, between words, of the next; that of the words behind the last."""
        index = bisect_right(self.starts, offset) - 1
        return index if index >= 0 and self.words[index].end > offset else index + 1

    def word(self, offset: int) -> Word | None:
        index = self.index(offset)
        return self.words[index] if index < len(self.words) else None

    def within(self, span: Span) -> range:
        """The numbers of the words in a part."""
        return range(bisect_left(self.starts, span.start), bisect_left(self.starts, span.end))

    def of(self, span: Span) -> str:
        return self.text[span.start : span.end]

    def statement(self, offset: int) -> Span:
        """The statement, predicate or description around an offset, without what ends it."""
        item = self.item(offset)
        if item is None:
            return Span(offset, offset)
        for part in (*item.descriptions, item.predicate):
            if part and part.start <= offset < part.end:
                return part
        if item.body is None or offset < item.body.start:
            return item.span
        return self._statement(offset, item.body)

    def _statement(self, offset: int, body: Span) -> Span:
        inside = self.within(Span(body.start + 1, body.end))
        first, depth, last = inside.start, 0, inside.start
        for index in inside:
            word = self.words[index]
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(word.text, 0)
            ends = word.text in ("{", "}") or (word.text == ";" and depth <= 0)
            if not ends:
                last = index
                continue
            depth = 0
            if word.start >= offset:
                break
            first = last = index + 1
        if first >= len(self.words) or first > last:
            return Span(offset, offset)
        return Span(self.words[first].start, self.words[last].end)

    def item(self, offset: int) -> Item | None:
        """The item that an offset is in or just behind."""
        before = [item for item in self.items if item.span.start <= offset]
        return before[-1] if before else next(iter(self.items), None)

    @cached_property
    def items(self) -> list[Item]:
        found: list[Item] = []
        index = 0
        while index < len(self.words):
            item = self._item(self.words[index].start)
            found.append(item)
            index = max(bisect_left(self.starts, item.span.end), index + 1)
        return found

    def _item(self, start: int) -> Item:
        descriptions, offset = self._descriptions(start)
        opening = self._opening(offset)
        begun = (
            self.starts[bisect_left(self.starts, offset)]
            if bisect_left(self.starts, offset) < len(self.starts)
            else offset
        )
        predicate = None
        if descriptions and self.text.startswith("/", begun) and opening is not None:
            behind = self.text.rfind("/", begun + 1, opening)
            predicate = Span(begun, behind + 1 if behind > 0 else opening)
        if opening is None:
            return Item(Span(start, self._end_of_line_item(start)), descriptions, predicate, None)
        end = self._closing(opening)
        return Item(Span(start, end), descriptions, predicate, Span(opening, end))

    def _descriptions(self, start: int) -> tuple[tuple[Span, ...], int]:
        """Those that begin there, and where the last ends."""
        found: list[Span] = []
        offset = start
        while True:
            match = DESCRIPTION.match(self.text, offset)
            if match is None:
                return tuple(found), offset
            found.append(Span(offset, match.end()))
            blank = _BLANK.match(self.text, match.end())
            comma = blank.end() if blank else match.end()
            if not self.text.startswith(",", comma):
                return tuple(found), match.end()
            blank = _BLANK.match(self.text, comma + 1)
            offset = blank.end() if blank else comma + 1

    def _opening(self, offset: int) -> int | None:
        """The brace that opens the body of the item, whose head goes on at `offset`."""
        for index in range(bisect_left(self.starts, offset), len(self.words)):
            word = self.words[index]
            if word.text == "{":
                return word.start
            if word.text in (";", "}") or word.start in self.clause_starts:
                return None
        return None

    def _end_of_line_item(self, start: int) -> int:
        """Where an item without a body ends: at its semicolon, or before what can only be the next clause."""
        for index in range(bisect_left(self.starts, start) + 1, len(self.words)):
            word = self.words[index]
            if word.start in self.clause_starts:
                return self.words[index - 1].end
            if word.text == ";":
                return word.end
        return len(self.text)

    def _closing(self, opening: int) -> int:
        """The end of the body that a brace opens: before what can only be the next clause where it is not closed."""
        partner = self.brackets.partner.get(bisect_left(self.starts, opening))
        following = [start for start in self.clause_starts if start > opening]
        end = self.words[partner].end if partner is not None else len(self.text)
        if following and following[0] < end:
            before = bisect_left(self.starts, following[0]) - 1
            return self.words[before].end
        return end
