"""A function of Python's, as sessions know it and recordings keep it."""

from __future__ import annotations

from bisect import bisect_right

from sonde.model.python_frames import UNKNOWN_PLACE, PythonFrame
from sonde.typed import NamedTuple


class LineStart(NamedTuple):
    """Where in the code, in bytes, another line begins, and which."""

    place: int
    line: int


class PythonFunction(NamedTuple):
    """`name` is module and qualified name (before 3.11 the name alone), `line` the first one; `rows` in order."""

    name: str
    file: str
    line: int
    rows: tuple[LineStart, ...]

    def frame(self, place: int) -> PythonFrame:
        """At an instruction; where its line is not known, the function's first."""
        found = line_at(self.rows, place) if place != UNKNOWN_PLACE else 0
        return PythonFrame(self.name, self.file, found or self.line)


class NumberedFunction(NamedTuple):
    """The number that stands for a function in stacks."""

    number: int
    function: PythonFunction


def line_at(rows: tuple[LineStart, ...], place: int) -> int:
    """The line of an instruction, 0 if the rows do not say."""
    index = bisect_right(rows, (place, 1 << 62))
    return rows[index - 1].line if index else 0
