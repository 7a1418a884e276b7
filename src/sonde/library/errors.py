"""What the library raises. `str()` of each is what the command prints."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from sonde.launch import CommandError, GuardianError
from sonde.machine import obstacles
from sonde.model.errors import AbortedError, CannotShowError, EngineError, ProgramError
from sonde.session.errors import NotPermittedError as SessionNotPermittedError
from sonde.session.errors import SessionError
from sonde.visible import visible_lines


class Error(Exception):
    """Something that was asked for cannot be done: `text` says what and why, `remedy` what would help."""

    def __init__(self, text: str, remedy: str = "") -> None:
        super().__init__(text, remedy)
        self.text = text
        self.remedy = remedy

    def __str__(self) -> str:
        # Each part has the lines of its maker, who keeps what comes from outside in one.
        return visible_lines("\n".join([self.text, *(f"  {line}" for line in self.remedy.split("\n") if self.remedy)]))


class NotPermittedError(Error):
    """This user, or a container, may not trace like this."""


class DestructiveError(NotPermittedError):
    """The program does more than look at the system, and nobody has allowed that. `reason`: in what, where only its
    compiled form is known."""

    def __init__(self, reason: str = "") -> None:
        how = "allow them with the option destructive"
        if not reason:
            how += ", or in the program by `#pragma D option destructive`"
        super().__init__("could not enable tracing: Destructive actions not allowed", f"{reason}\n{how}".strip())
        self.args = (reason,)
        self.reason = reason


class TracingError(Error):
    """The programs could not be loaded or attached, or tracing could not go on."""


class ReaderGoneError(TracingError):
    """Whoever read the standard output has gone away."""


class ScriptError(Error):
    """A file that is no script, spec or recording of sonde's, or that cannot be read."""


class CompileError(Error):
    """A program that does not compile. `message` is what is wrong, `tag` DTrace's name for it (`D_SYNTAX`), "" if it
    has none; `file` None for a text, `line` and `column` from 1 (0: not known), `source_line` the text there. `full`
    is the message as dtrace(1) has it, with the whole program, and `has_lines` whether that may have several lines."""

    def __init__(
        self, text: str, remedy: str = "", message: str = "", tag: str = "", file: str | None = None, line: int = 0,
        column: int = 0, source_line: str = "", full: str = "", has_lines: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(text, remedy)
        self.args = (text, remedy, message, tag, file, line, column, source_line, full, has_lines)
        self.full = full or text
        self.has_lines = has_lines
        self.message = message or text
        self.tag = tag
        self.file = file
        self.line = line
        self.column = column
        self.source_line = source_line


def compile_error(error: ProgramError) -> CompileError:
    """From the front end's."""
    mistake, full = error.mistake, error.text
    text = error.brief or full
    if mistake is None:
        return CompileError(text, error.hint, full=full, has_lines=error.has_lines)
    place = mistake.position
    if place is None:
        return CompileError(text, error.hint, mistake.text, mistake.tag, full=full, has_lines=error.has_lines)
    lines = error.source.split("\n")
    line = lines[place.line - 1] if 0 < place.line <= len(lines) and not place.line_directive else ""
    return CompileError(
        text, error.hint, mistake.text, mistake.tag, place.file, place.line, place.column, line, full, error.has_lines
    )


_COMMAND_LINE = "<command line>"
"""What stands for a file where a program in D has none."""


def engine_error(error: EngineError, language: str = "") -> TracingError:
    """What the engine could not do, with the line of source the kernel refused and the end of the verifier's log."""
    file = error.place.rpartition(":")[0]
    # What is typed, or run in cells, has names as <stdin>, <python-input-0> and <stdin>-1.
    is_python = file.endswith(".py") or (file.startswith("<") and file != _COMMAND_LINE)
    language = language or ("Python" if is_python else "D")
    parts = [f"the {language} code it was made from is at {error.place}"] if error.place else []
    if error.log:
        parts += ["the end of the verifier's log:", *error.log.removesuffix("\n").split("\n")]
    failure = "processing aborted" if isinstance(error, AbortedError) else "could not enable tracing"
    return TracingError(f"{failure}: {error.text}", "\n".join(parts))


@contextmanager
def as_errors() -> Iterator[None]:
    """In the `with` block what lower floors raise becomes the library's."""
    try:
        yield
    except SessionError as error:
        made = NotPermittedError if isinstance(error, SessionNotPermittedError) else Error
        raise made(error.text, error.hint) from None
    except ProgramError as error:
        raise compile_error(error) from None
    except EngineError as error:
        raise engine_error(error) from None
    except CommandError as error:
        raise Error(str(error)) from None
    except CannotShowError as error:
        raise TracingError(str(error), error.remedy) from None
    except GuardianError as error:
        raise TracingError(f"processing aborted: {error}") from None


def aborted(error: OSError) -> TracingError:
    """What ended a session while it ran."""
    if isinstance(error, BrokenPipeError) and not error.filename:
        return ReaderGoneError("processing aborted: nobody reads the standard output any more")
    found = of_system(error)
    if found is not None:
        return TracingError(f"processing aborted: {found.text}", found.remedy)
    where = f"failed to write '{error.filename}': " if error.filename else ""
    return TracingError(f"processing aborted: {where}{error.strerror}")


def of_system(error: OSError) -> Error | None:
    """What the system lacks or refuses to anybody who traces; None if the error is of another kind."""
    if error.errno == errno.EMFILE:
        # No module could be read.
        return Error(error.strerror or "", "raise the limit of open files: `ulimit -n`")

    found = obstacles.obstacle(error)
    return None if found is None else Error(*found)


def of_memory() -> Error:
    """There is no memory left."""
    return Error(*obstacles.no_memory())
