"""What the library raises. `str()` of each is what the command prints."""

from __future__ import annotations

from sonde.model.errors import ProgramError


class Error(Exception):
    """Something that was asked for cannot be done: `text` says what and why, `remedy` what would help."""

    def __init__(self, text: str, remedy: str = "") -> None:
        super().__init__(text, remedy)
        self.text = text
        self.remedy = remedy

    def __str__(self) -> str:
        return "\n".join([self.text, *(f"  {line}" for line in self.remedy.split("\n") if self.remedy)])


class NotPermittedError(Error):
    """This user, or a container, may not trace like this."""


class TracingError(Error):
    """The programs could not be loaded or attached, or tracing could not go on."""


class ScriptError(Error):
    """A file that is no script, spec or recording of sonde's, or that cannot be read."""


class CompileError(Error):
    """A program that does not compile. `message` is what is wrong, `tag` DTrace's name for it (`D_SYNTAX`), "" if it
    has none; `file` None for a text, `line` and `column` from 1 (0: not known), `source_line` the text there."""

    def __init__(
        self, text: str, remedy: str = "", message: str = "", tag: str = "", file: str | None = None, line: int = 0,
        column: int = 0, source_line: str = "",
    ) -> None:  # fmt: skip
        super().__init__(text, remedy)
        self.args = (text, remedy, message, tag, file, line, column, source_line)
        self.message = message or text
        self.tag = tag
        self.file = file
        self.line = line
        self.column = column
        self.source_line = source_line


def compile_error(error: ProgramError) -> CompileError:
    """From the front end's."""
    mistake = error.mistake
    text = error.brief or error.text
    if mistake is None:
        return CompileError(text, error.hint)
    place = mistake.position
    if place is None:
        return CompileError(text, error.hint, mistake.text, mistake.tag)
    lines = error.source.split("\n")
    line = lines[place.line - 1] if 0 < place.line <= len(lines) and not place.line_directive else ""
    return CompileError(text, error.hint, mistake.text, mistake.tag, place.file, place.line, place.column, line)
