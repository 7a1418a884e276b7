"""The languages that programs are written in, and what a front end gives: the same for all of them.

A language is a folder beside `d/` and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from sonde.model.catalog import Catalog
from sonde.model.errors import DError, ProgramError
from sonde.model.options import OptionTable
from sonde.model.program import Program
from sonde.typed import NamedTuple, Protocol, cast


class Checked(NamedTuple):
    """A program whose names are resolved and whose types are known; the lines of its sources by file, None for a text;
    whether it does more to the system than look at it; and what puts a mistake that is found later into words."""

    program: Program
    lines: dict[str | None, list[str]]
    is_destructive: bool
    explain: Callable[[DError], ProgramError]


class FrontEnd(Protocol):
    """A module that makes programs of source texts."""

    @staticmethod
    def check(
        text: str, is_file: bool, options: OptionTable, catalog: Catalog, arguments: Sequence[str], target: int | None
    ) -> Checked:
        """The program of a text, or of the file whose path it is. `options` take what the program sets itself;
        `arguments` are $1, $2 ...; `target` is the process that $target means, None where that is known when the
        program runs. Raises ProgramError."""


LANGUAGES = {"d": "sonde.frontends.d.programs.front_end"}
"""The module of each front end, which is imported when a program is in its language."""


def front_end(language: str) -> FrontEnd:
    """That of a language of the table."""
    return cast("FrontEnd", import_module(LANGUAGES[language]))
