"""What a program's report shows its values by."""

from __future__ import annotations

from collections.abc import Mapping

from sonde.frontends.bpftrace.program_text import BtSource, ProgramText
from sonde.frontends.bpftrace.series import FUNCTIONS, Series
from sonde.model.report_texts import ReportTexts
from sonde.model.units import GIB
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.frontends.bpftrace.report.trials import BtTrials

_MOST_LENGTH = GIB
_FUNCTIONS = frozenset({"count", "sum", "min", "max", "avg", "stats", "hist", "lhist", "tseries"})


class Ending(NamedTuple):
    """What the program calls the functions of its aggregations, by their names. `is_json`: what is shown are objects,
    one a line. Strings of `longest` characters have been cut, and have `trailer` behind them. `warns`: warnf() is
    heard. `source` is the program's text. `largest_file`: so many bytes cat() shows. `series` are the maps of
    tseries(). `trials` take what is shown while they run."""

    functions: Mapping[str, str]
    is_json: bool = False
    longest: int = 0
    trailer: bytes = b""
    warns: bool = True
    source: BtSource = BtSource(ProgramText("", ()), {})
    largest_file: int = 0
    series: Mapping[str, Series] = {}
    trials: BtTrials | None = None


def ending_of(texts: ReportTexts | None) -> Ending:
    """Of what the spec has for the report. Raises DamagedError for what no program of the language has."""
    if texts is None:
        raise _damaged("lacks what its report is to show")
    sizes = (texts.longest, texts.largest_file, *(n for each in texts.series for n in (each.interval, each.intervals)))
    names = {each.function for each in texts.functions}
    functions = {each.function for each in texts.series}
    if not all(0 <= each <= _MOST_LENGTH for each in sizes) or names - _FUNCTIONS or functions - set(FUNCTIONS):
        raise _damaged("has a report of which is not known what it shows")
    source = BtSource(
        ProgramText(texts.name, texts.lines, tuple((each.before, each.name) for each in texts.imported)),
        {(each.line, each.column): (each.end_line, each.end_column) for each in texts.spans},
    )
    return Ending(
        {each.map: each.function for each in texts.functions},
        longest=texts.longest,
        trailer=texts.trailer,
        source=source,
        largest_file=texts.largest_file,
        series={each.map: Series(each.interval, each.intervals, each.function) for each in texts.series},
    )


def _damaged(text: str) -> Exception:
    from sonde.formats.damage import DamagedError  # of files alone

    return DamagedError(f"it is damaged: it {text}")
