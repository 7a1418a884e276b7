"""Compiled programs of bpftrace's language in spec files: written by --aot, and run."""

from __future__ import annotations

import json
from collections.abc import Callable

from sonde.frontends.bpftrace.program_text import BtSource, ProgramText
from sonde.frontends.bpftrace.report.text import BtReport, Ending
from sonde.frontends.bpftrace.series import FUNCTIONS, Series
from sonde.library.bpftrace.programs import LANGUAGE, BtProgram, ending_of
from sonde.library.errors import ScriptError
from sonde.library.foreground import Job, Outlet, require_allowed, run_here
from sonde.library.holding import Held
from sonde.library.outputs import OUTPUT, emptied
from sonde.library.settings import OptionTable
from sonde.library.spec_file import SpecFile, damaged, harm_of, options_of, save
from sonde.model.plain import PlainError, from_plain, to_plain
from sonde.model.units import GIB
from sonde.session.participants import MakeReport
from sonde.typed import NamedTuple

_MOST_LENGTH = GIB
_FUNCTIONS = frozenset({"count", "sum", "min", "max", "avg", "stats", "hist", "lhist", "tseries"})


class MapFunction(NamedTuple):
    """What the program calls the function of an aggregation."""

    map: str
    function: str


class MapSeries(NamedTuple):
    """What tseries() makes of a map (`Series`)."""

    map: str
    interval: int
    intervals: int
    function: str


class ImportedText(NamedTuple):
    """Of `ProgramText.imported`."""

    before: int
    name: str


class TextSpan(NamedTuple):
    """Where what begins at a line and column ends."""

    line: int
    column: int
    end_line: int
    end_column: int


class ReportTexts(NamedTuple):
    """What the report of a program needs besides its spec: `Ending`, as a spec file has it."""

    functions: tuple[MapFunction, ...]
    longest: int
    trailer: bytes
    largest_file: int
    name: str
    lines: tuple[str, ...]
    imported: tuple[ImportedText, ...]
    spans: tuple[TextSpan, ...]
    series: tuple[MapSeries, ...] = ()


def save_program(path: str, program: BtProgram, options: OptionTable) -> None:
    """Write a spec file of a program that was compiled for other kernels, too. Raises ScriptError."""
    made = program.made
    parts = [(title, program.attached) for title, _ in made.matched()]
    texts = json.dumps(to_plain(_texts(ending_of(program.own))))
    save(path, made.spec, made.registry, parts, options.kept(), made.checked.is_destructive, LANGUAGE, texts)


def run_compiled(
    path: str, content: SpecFile, options: OptionTable, held: Held, output: str | None, tell: Callable[[str], None],
    attached: Callable[[], None], is_json: bool, warns: bool,
) -> int:  # fmt: skip
    """Trace to the end; returns the argument of exit(). Raises Error."""
    ending = _ending(path, content)._replace(is_json=is_json, warns=warns)
    job = job_of_file(content, options)
    require_allowed(job)

    def report_to(outlet: Outlet) -> MakeReport:
        return lambda spec, shown: BtReport(spec, shown, outlet.descriptor, outlet.names, ending)

    output = emptied(output, OUTPUT)
    with damaged(path):
        return run_here(job, held, tell, output=output, attached=attached, report_to=report_to).status


def job_of_file(content: SpecFile, options: OptionTable) -> Job:
    """What is to be traced."""
    reason = harm_of(content)
    return Job(content.spec, options, content.destructive or bool(reason), reason, program=LANGUAGE, is_foreign=True)


def restore_options(content: SpecFile, options: OptionTable) -> None:
    """Those that were compiled in."""
    options.restore(options_of(content))


def _texts(ending: Ending) -> ReportTexts:
    text = ending.source.text
    return ReportTexts(
        tuple(MapFunction(*each) for each in ending.functions.items()),
        ending.longest,
        ending.trailer,
        ending.largest_file,
        text.name,
        tuple(text.lines),
        tuple(ImportedText(*each) for each in text.imported),
        tuple(TextSpan(*begin, *end) for begin, end in ending.source.spans.items()),
        tuple(MapSeries(name, *each) for name, each in ending.series.items()),
    )


def _ending(path: str, content: SpecFile) -> Ending:
    """Raises ScriptError for what no program of the language has."""
    if content.language != LANGUAGE:
        hint = f"run it with sonde --spec {path}"
        raise ScriptError(f"{path} is no program of bpftrace's language: it was compiled of another", hint)
    try:
        texts: ReportTexts = from_plain(ReportTexts, json.loads(content.texts))
    except (ValueError, RecursionError, PlainError) as error:
        raise ScriptError(f"{path} cannot be used: it is damaged: {error}") from None
    sizes = (texts.longest, texts.largest_file, *(n for each in texts.series for n in (each.interval, each.intervals)))
    names = {each.function for each in texts.functions}
    functions = {each.function for each in texts.series}
    if not all(0 <= each <= _MOST_LENGTH for each in sizes) or names - _FUNCTIONS or functions - set(FUNCTIONS):
        raise ScriptError(f"{path} cannot be used: it is damaged: what its report is to show is not known")
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
