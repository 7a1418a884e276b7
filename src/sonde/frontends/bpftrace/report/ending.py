"""What a program's report shows its values by."""

from __future__ import annotations

from collections.abc import Mapping

from sonde.formats import damage
from sonde.frontends.bpftrace.program_text import BtSource, ProgramText
from sonde.frontends.bpftrace.series import FUNCTIONS, Series
from sonde.model.records import AggregationSpec, ArraySpec
from sonde.model.report_texts import MapSeries
from sonde.model.spec import TracingSpec
from sonde.model.units import GIB
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.frontends.bpftrace.report.trials import BtTrials

_MOST_LENGTH = GIB
_MOST_INTERVALS = 1 << 62
_FUNCTIONS = {
    **{name: (name,) for name in ("count", "sum", "min", "max", "avg")},
    "stats": ("avg",), "hist": ("quantize",), "lhist": ("lquantize",), "tseries": ("avg", "min", "max"),
}  # fmt: skip
"""What the language calls functions, and the functions of the model that these are."""


class Ending(NamedTuple):
    """What the program calls the functions of its aggregations, by their names. `is_json`: what is shown are objects,
    one a line. Strings of `longest` characters have been cut, and have `trailer` behind them. `warns`: warnf() is
    heard. `source` is the program's text. `largest_file`: so many bytes cat() shows. `series` are the maps of
    tseries(). `trials` take what is shown while they run. `tells`: what helpers fail to do is told with the helper's
    name."""

    functions: Mapping[str, str]
    is_json: bool = False
    longest: int = 0
    trailer: bytes = b""
    warns: bool = True
    source: BtSource = BtSource(ProgramText("", ()), {})
    largest_file: int = 0
    series: Mapping[str, Series] = {}
    trials: BtTrials | None = None
    tells: bool = False


def ending_of(spec: TracingSpec) -> Ending:
    """Of what the spec has for the report. Raises DamagedError for what no program of the language has."""
    texts = spec.texts
    if texts is None:
        raise _damaged("lacks what its report is to show")
    sizes = (texts.longest, texts.largest_file)
    if not all(0 <= each <= _MOST_LENGTH for each in sizes):
        raise _damaged("has strings longer than any")
    functions = {each.map: each.function for each in texts.functions}
    if not {*functions.values()} <= _FUNCTIONS.keys():
        raise _damaged("has an unknown function")
    for one in spec.aggregations:
        if one.function not in _FUNCTIONS.get(functions.get(one.name, ""), (one.function,)):
            raise _damaged(f"has another function than it says in @{one.name}")
    for series in texts.series:
        _check_series(series, spec)
    source = BtSource(
        ProgramText(texts.name, texts.lines, tuple((each.before, each.name) for each in texts.imported)),
        {(each.line, each.column): (each.end_line, each.end_column) for each in texts.spans},
    )
    return Ending(
        functions,
        longest=texts.longest,
        trailer=texts.trailer,
        source=source,
        largest_file=texts.largest_file,
        series={each.map: Series(each.interval, each.intervals, each.function) for each in texts.series},
        tells=texts.tells,
    )


def _check_series(series: MapSeries, spec: TracingSpec) -> None:
    """That the last key of a map is the number of an interval."""
    bounds = series.interval, series.intervals
    if series.function not in FUNCTIONS or not all(0 < each <= _MOST_INTERVALS for each in bounds):
        raise _damaged(f"has an unknown series in @{series.map}")
    maps: list[AggregationSpec | ArraySpec] = [*spec.aggregations, *spec.arrays]
    for each in maps:
        if each.name == series.map and (not each.keys or each.keys[-1].kind != "int"):
            raise _damaged(f"has no series in @{series.map}")


def _damaged(text: str) -> Exception:
    return damage.DamagedError(f"it is damaged: it {text}")
