"""The text of a program: its own file's, and behind that those of the files that it imports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sonde.typed import NamedTuple


class ProgramText(NamedTuple):
    """`name` is the program's own file, `lines` are those of all files, and `imported` has for each further one the
    number of lines before it, and its name, in this order."""

    name: str
    lines: Sequence[str]
    imported: Sequence[tuple[int, str]] = ()

    def origin(self, line: int) -> tuple[str, int]:
        """The file of a line of all, and how many lines are before that file."""
        found = self.name, 0
        for before, name in self.imported:
            if line > before:
                found = name, before
        return found


class BtSource(NamedTuple):
    """The text, and where what begins at a line and column ends."""

    text: ProgramText
    spans: Mapping[tuple[int, int], tuple[int, int]]
