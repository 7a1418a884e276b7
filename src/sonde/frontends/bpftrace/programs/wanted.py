"""What a program is compiled with: its text and the options that are the compiler's, as pairs of a kind and a text."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.typed import NamedTuple

TEXT, FILE = "text", "file"
"""Kinds of programs: on the command line, and in a file."""

FILTER = "probe filter"
"""The kind of a regular expression for the names of probes."""


TELLS = "tells"
"""The kind, with any text, that wants elements told that are not there when they are asked for."""


MODE = "mode"
"""The kind whose text says what is to be run, `test` or `bench`, in the place of what is traced."""


PROCESS = "process"
"""The kind whose text is the number of the one process that is traced."""


class Wanted(NamedTuple):
    """`tells` of elements that are not there. `file` is None for a program of the command line; `given` is its text, or
    the file's name."""

    given: str
    file: str | None
    filter: str = ""
    tells: bool = False
    mode: str = ""
    process: int = 0


def wanted(pairs: Sequence[tuple[str, str]]) -> Wanted:
    """From the pairs, of which the program is the first."""
    (kind, given), *others = pairs
    found = dict(others)
    file, process = given if kind == FILE else None, int(found.get(PROCESS, 0))
    return Wanted(given, file, found.get(FILTER, ""), TELLS in found, found.get(MODE, ""), process)
