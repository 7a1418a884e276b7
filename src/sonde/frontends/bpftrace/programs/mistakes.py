"""A mistake as bpftrace tells it: place, kind, the line and a mark below it."""

from __future__ import annotations

from sonde.frontends.bpftrace.errors import BtError, SourceSpan, placed
from sonde.model.errors import ProgramError, SourceError
from sonde.untrusted import lines


def told(error: SourceError, text: str, file: str | None) -> ProgramError:
    """The message for a mistake in a program's text; `file` is None for one of the command line."""
    span = _span(error)
    name = file or "stdin"
    if span is None:
        return ProgramError(f"{name}: ERROR: {error.text}", error.hint, mistake=error, source=text)
    message = placed("ERROR", error.text, span, lines(text), name)
    if isinstance(error, BtError) and error.told:
        message = f"{message}\n{error.told}"
    return ProgramError(message, error.hint, True, mistake=error, source=text)


def warned(error: BtError, text: str, file: str | None) -> str:
    """What compiles and may be meant otherwise, as lines."""
    return placed("WARNING", error.text, error.span, lines(text), file or "stdin")


def _span(error: SourceError) -> SourceSpan | None:
    if isinstance(error, BtError):
        return error.span
    at = error.position
    return None if at is None else SourceSpan(at.line, at.column, at.line, at.column + 1)
