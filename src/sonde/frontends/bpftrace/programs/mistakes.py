"""A mistake as bpftrace tells it: place, kind, the line and a mark below it."""

from __future__ import annotations

from sonde.frontends.bpftrace.errors import BtError, SourceSpan, placed
from sonde.frontends.bpftrace.program_text import ProgramText
from sonde.model.errors import ProgramError, SourceError


def told(error: SourceError, source: ProgramText) -> ProgramError:
    """The message for a mistake in a program's text."""
    span, text = _span(error), "\n".join(source.lines)
    if span is None:
        return ProgramError(f"{source.name}: ERROR: {error.text}", error.hint, mistake=error, source=text)
    message = _whole("ERROR", error, span, source)
    if isinstance(error, BtError) and error.told:
        message = f"{message}\n{error.told}"
    return ProgramError(message, error.hint, True, mistake=error, source=text)


def warned(error: BtError, source: ProgramText) -> str:
    """What compiles and may be meant otherwise, as lines."""
    message = _whole("WARNING", error, error.span, source)
    return f"{message}\nHINT: {error.hint}" if error.hint else message


def _whole(kind: str, error: SourceError, span: SourceSpan, source: ProgramText) -> str:
    """With the calls of the macros that it comes from."""
    calls = error.expanded_from if isinstance(error, BtError) else ()
    return "\n".join(
        [placed(kind, error.text, span, source), *(placed(kind, "expanded from", each, source) for each in calls)]
    )


def _span(error: SourceError) -> SourceSpan | None:
    if isinstance(error, BtError):
        return error.span
    at = error.position
    return None if at is None else SourceSpan(at.line, at.column, at.line, at.column + 1)
