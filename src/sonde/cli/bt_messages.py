"""What `bt` says on the error output, in bpftrace's form: no program's name, but what kind of message it is."""

from __future__ import annotations

from sonde.cli import help as cli_help
from sonde.cli.messages import FatalError, Messages, UsageError, refused
from sonde.library.errors import Error

_ERROR, _WARNING, _HINT = "ERROR: ", "WARNING: ", "HINT: "


class BtMessages:
    """Messages behind their kinds. `is_silent`: without warnings."""

    def __init__(self, messages: Messages, is_silent: bool = False) -> None:
        self._messages = messages
        self.is_silent = is_silent

    def warning(self, text: str) -> None:
        """One line, which may have its kind already."""
        if not self.is_silent:
            self._messages.plain_lines([_of_kind(text, _WARNING)])

    def warnings(self, texts: list[str]) -> None:
        """Of several lines each."""
        if not self.is_silent:
            self._messages.plain_lines([line for text in texts for line in text.split("\n")])

    def failure(self, error: FatalError | Error) -> int:
        """Why the command cannot go on; returns the exit status."""
        found = refused(error) if isinstance(error, Error) else error
        if found.text:
            lines = found.text.split("\n") if found.has_lines else [found.text]
            self._messages.plain_lines([_of_kind(lines[0], _ERROR), *lines[1:]])
        if found.hint:
            self._messages.plain_lines((_HINT + found.hint).split("\n"))
        if isinstance(found, UsageError):
            self._messages.plain(cli_help.usage(["bt"], self._messages.program))
        return 1

    def plain(self, text: str) -> None:
        self._messages.plain(text)


def _of_kind(line: str, kind: str) -> str:
    """With the kind before it, unless it says one itself, as mistakes in a program do behind their place."""
    return line if _ERROR in line or _WARNING in line else kind + line
