"""The values of this package: a mistake, changes that may help, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable

from sonde.frontends.d.advice.layout import Item, ProgramLayout
from sonde.frontends.d.advice.words import Span, Word
from sonde.frontends.d.errors import DError
from sonde.typed import NamedTuple

Trial = Callable[[str, bool], DError | None]
"""Compiles a program and gives its first mistake; the flag asks for its hints, which may take long to find."""


class Edit(NamedTuple):
    """A part of the text and what is to stand there instead."""

    span: Span
    text: str


class Label(NamedTuple):
    """A part of the text and what it has to do with a mistake."""

    span: Span
    text: str


class Remedy(NamedTuple):
    """A change that may help. `words` say what is done; `label` says what is wrong at `span`, if that is not where
    the mistake was noticed; `also` are other parts that belong to it."""

    words: str
    edits: tuple[Edit, ...]
    label: str = ""
    span: Span | None = None
    also: tuple[Label, ...] = ()
    is_certain: bool = False
    """Whether this is meant even where it does not compile, as a probe that this kernel has not."""
    needs: tuple[Edit, ...] = ()
    """Changes that show whether a structure that it names is there: without one sizeof cannot be applied to it."""

    @property
    def is_cause(self) -> bool:
        """Whether nothing is changed: the cause is known, and no change behind this one would keep the meaning."""
        return not self.edits


class Finding(NamedTuple):
    """A mistake as it is told: `remedy` is one that has been tried, and compiles; `advice` is for people to follow."""

    error: DError
    span: Span | None
    label: str = ""
    also: tuple[Label, ...] = ()
    remedy: Remedy | None = None
    advice: str = ""


class Case(NamedTuple):
    """A mistake and its surroundings, as rules look at them. `word` is the one where it was noticed (`number` among
    all), None at the end; `part` the statement, predicate or description."""

    error: DError
    layout: ProgramLayout
    offset: int
    number: int
    word: Word | None
    item: Item | None
    part: Span
    span: Span

    @property
    def text(self) -> str:
        return self.layout.text

    def at(self, distance: int) -> Word | None:
        """A word before (negative) or after the one where the mistake was noticed."""
        number = self.number + distance
        return self.layout.words[number] if 0 <= number < len(self.layout.words) else None

    def is_in(self, part: Span | None) -> bool:
        return part is not None and part.start <= self.offset < part.end

    @property
    def description(self) -> str:
        """The first description of the clause, "" outside of clauses."""
        spans = self.item.descriptions if self.item else ()
        return self.layout.of(spans[0]) if spans else ""


def replaced(text: str, edits: tuple[Edit, ...]) -> str:
    """The text with all changes made, which do not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def cause(span: Span, label: str, words: str) -> Remedy:
    """What is wrong at `span` and what D has for it, where no change of the text is known that keeps its meaning."""
    return Remedy(words, (), label, span)


def swap(span: Span, text: str) -> tuple[Edit, ...]:
    return (Edit(span, text),)


def insert(offset: int, text: str) -> tuple[Edit, ...]:
    return (Edit(Span(offset, offset), text),)


def of_word(word: Word) -> Span:
    return Span(word.start, word.end)
