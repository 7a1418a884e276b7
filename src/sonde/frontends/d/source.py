"""What the parser is given: the text of a program and the values of its macro variables."""

from __future__ import annotations

from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.typed import NamedTuple

INPUT = "/dev/stdin"
"""What the preprocessor calls its input in its messages and line markers."""


class ProgramSource(NamedTuple):
    """A program's text and how it came.

    `file` is None for a program of the command line. `spec_kind` tells which field a probe description ends with:
    `provider` (-P), `module` (-m), `function` (-f) or `name`. `bodiless` allows probe descriptions without a clause,
    as on the command line; `pspec` takes every ambiguous word outside clauses for a probe description. `is_own`: a
    library of sonde's.
    """

    text: str
    file: str | None = None
    spec_kind: str = "name"
    bodiless: bool = False
    pspec: bool = False
    is_own: bool = False


def command_line_source(text: str, spec_kind: str = "name") -> ProgramSource:
    """The argument of -n, -P, -m, -f or -i."""
    return ProgramSource(text, None, spec_kind, bodiless=True, pspec=True)


class Macros(NamedTuple):
    """The values of `$pid`, `$target` ... and of `$0`, `$1` ... (`arguments`, the program's own name first).

    With `defaultargs` a missing argument is 0, or "" as a string. A `target` of None is
    known only when the program runs.
    """

    pid: int = 0
    ppid: int = 0
    uid: int = 0
    euid: int = 0
    gid: int = 0
    egid: int = 0
    pgid: int = 0
    sid: int = 0
    target: int | None = 0
    arguments: tuple[str, ...] = ()
    defaultargs: bool = False


MACRO_NAMES = frozenset(Macros._fields) - {"arguments", "defaultargs"}


def check_arguments_used(macros: Macros, used: frozenset[int], end: Position) -> None:
    """Raise D_MACRO_UNUSED if the program, which ends there, never names its last argument."""
    number = len(macros.arguments) - 1
    if number > 0 and number not in used:
        argument = macros.arguments[number]
        raise DError("D_MACRO_UNUSED", f"extraneous argument '{argument}' (${number} is not referenced)", end)
