"""Where something stands in a program of bpftrace's language, and mistakes there."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.frontends.bpftrace.program_text import ProgramText
from sonde.model import errors
from sonde.model.errors import Position, SourceError
from sonde.typed import NamedTuple


class SourceSpan(NamedTuple):
    """From the first character of something to the one behind its last; lines and columns count from 1."""

    line: int
    column: int
    end_line: int
    end_column: int

    def to(self, last: SourceSpan) -> SourceSpan:
        """From where this begins to where `last` ends."""
        return SourceSpan(self.line, self.column, last.end_line, last.end_column)


class BtError(SourceError):
    """A mistake in a program: `text` is what is wrong, `span` where, `hint` what helps. `expanded_from` are the calls
    of macros that it comes from, the innermost first."""

    def __init__(
        self, text: str, span: SourceSpan, hint: str = "", file: str | None = None,
        expanded_from: Sequence[SourceSpan] = (),
    ) -> None:  # fmt: skip
        super().__init__(errors.LANGUAGE, text, position(span, file), hint)
        self.span = span
        self.expanded_from = tuple(dict.fromkeys(expanded_from))
        self.told = ""
        """What is told below it: a compiler's message for C text."""


NOWHERE = SourceSpan(0, 0, 0, 0)
"""The place of what is said of a program as a whole."""


def position(span: SourceSpan, file: str | None) -> Position:
    """Where code of this place says that it comes from."""
    return Position(file, span.line, span.column)


def spelled_place(span: SourceSpan) -> str:
    """The columns of a place in one line; of one that goes on, its lines."""
    if span.line == span.end_line:
        return f"{span.line}:{span.column}-{span.end_column}"
    return f"{span.line}-{span.end_line}"


def placed(kind: str, what: str, span: SourceSpan, source: ProgramText) -> str:
    """A message of that kind, with its place, and the line there with a mark below it, or all lines of a place that
    goes on. A tab is four spaces wide."""
    if span == NOWHERE:
        return f"{kind}: {what}"
    name, before = source.origin(span.line)
    local = SourceSpan(span.line - before, span.column, span.end_line - before, span.end_column)
    shown = [_untabbed(each) for each in source.lines[span.line - 1 : span.end_line]] or [""]
    if span.line == span.end_line:
        text = source.lines[span.line - 1] if span.line <= len(source.lines) else ""
        begin = len(_untabbed(text[: span.column - 1]).ljust(span.column - 1))
        marked = len(_untabbed(text[span.column - 1 : span.end_column - 1]))
        shown.append(" " * begin + "~" * max(marked, 1))
    return "\n".join((f"{name}:{spelled_place(local)}: {kind}: {what}", *shown))


def _untabbed(text: str) -> str:
    return text.replace("\t", "    ")
