"""What is said on the error output: dtrace's messages, byte for byte, and for people a hint below them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sonde.library import single_line, visible, visible_lines
from sonde.library.errors import CompileError, DestructiveError, Error, NotPermittedError


class FatalError(Exception):
    """The command cannot go on: one message, the exit status, and for people what they can do (`hint`). `has_lines`:
    the message itself has several lines, and quotes nothing that its maker has not seen to.

    `brief` is what people read instead of `text`, where that holds a program whose lines are in the hint.
    """

    def __init__(self, text: str, status: int = 1, hint: str = "", has_lines: bool = False, brief: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.status = status
        self.hint = hint
        self.has_lines = has_lines
        self.brief = brief


class UsageError(FatalError):
    """The command line makes no sense; `word` is the word that is not known, `option` the one that lacks its value."""

    def __init__(self, text: str, word: str = "", option: str = "") -> None:
        super().__init__(text, 2)
        self.word = word
        self.option = option


def given_twice(option: str, first: str, second: str) -> FatalError:
    """An option that has one value has got two: neither is dropped in silence."""
    return FatalError(f"{option} is given twice, as {first} and {second}, and it has one value", 2)


class ValueOfOptionError(FatalError):
    """The value of an option of the command line is none that it takes."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text, 2, hint)


def refused(error: Error) -> FatalError:
    """What the library could not do, as the end of the command."""
    if isinstance(error, CompileError):
        return FatalError(error.full, 1, error.remedy, error.has_lines, error.text)
    if isinstance(error, DestructiveError):
        how = "allow them with -w" if error.reason else "allow them with -w or `#pragma D option destructive`"
        return FatalError(error.text, 1, f"{error.reason}\n{how}".strip())
    return FatalError(error.text, 2 if isinstance(error, NotPermittedError) else 1, error.remedy)


class Messages:
    """The error output of one command, each message behind the program's name.

    Tests of dtrace compare what they read there with what dtrace says, so hints are for people only.
    """

    def __init__(self, program: str) -> None:
        self.program = program
        self._has_hints = "_DTRACE_TESTING" not in os.environ

    def failure(self, error: FatalError) -> None:
        """Why the command cannot go on. The command `dtrace` says it in dtrace's words to people, too."""
        is_brief = self._has_hints and self.program != "dtrace"
        self.error(error.brief if error.brief and is_brief else error.text, error.hint, error.has_lines)

    def error(self, text: str, hint: str = "", has_lines: bool = False) -> None:
        """One message, in one line unless it `has_lines`, and a hint of lines. They may quote what is from outside."""
        lines = text.split("\n") if has_lines else [text]
        self._write(f"{self._line(self.program)}: " + "".join(f"{self._line(line)}\n" for line in lines))
        if hint and self._has_hints:
            self._write("".join(f"  {self._line(line)}\n" for line in hint.split("\n")))

    @property
    def has_hints(self) -> bool:
        """Whether people read, and not a test of dtrace."""
        return self._has_hints

    def aside(self, text: str) -> None:
        """What dtrace does not say, for people only."""
        if self._has_hints:
            self.error(text)

    def plain(self, text: str) -> None:
        """Text of several lines without the program's name before it."""
        self._write(visible_lines(text) if self._is_terminal() else text)

    def plain_lines(self, lines: Sequence[str]) -> None:
        """Lines without the program's name before them. They may quote what is from outside."""
        self._write("".join(f"{self._line(line)}\n" for line in lines))

    def _line(self, text: str) -> str:
        return visible(text) if self._is_terminal() else single_line(text)

    @staticmethod
    def _is_terminal() -> bool:
        return os.isatty(2)

    def _write(self, text: str) -> None:
        try:
            os.write(2, text.encode(errors="surrogateescape"))
        except OSError:
            # Nobody is there to be told.
            return
