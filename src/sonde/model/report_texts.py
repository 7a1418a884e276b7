"""What the report of a language shows besides the spec: names, and the program's text, which messages quote."""

from __future__ import annotations

from sonde.typed import NamedTuple


class MapFunction(NamedTuple):
    """The program's name for the function of an aggregation."""

    map: str
    function: str


class MapSeries(NamedTuple):
    """A map that is shown as a series of moments: nanoseconds of an interval, how many are shown, and the function that
    makes one value of those of an interval."""

    map: str
    interval: int
    intervals: int
    function: str


class ImportedText(NamedTuple):
    """A further file of the program, and the number of lines before its own."""

    before: int
    name: str


class TextSpan(NamedTuple):
    """Where what begins at a line and column ends."""

    line: int
    column: int
    end_line: int
    end_column: int


class ReportTexts(NamedTuple):
    """Strings of `longest` characters have been cut, and get `trailer`; of a file so many bytes are shown as
    `largest_file` says. `name` is the program's own file, `lines` are those of all its files. `tells`: what helpers
    fail to do is told with the helper's name."""

    functions: tuple[MapFunction, ...]
    longest: int
    trailer: bytes
    largest_file: int
    name: str
    lines: tuple[str, ...]
    imported: tuple[ImportedText, ...]
    spans: tuple[TextSpan, ...]
    series: tuple[MapSeries, ...] = ()
    tells: bool = False
