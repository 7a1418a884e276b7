"""Programs of bpftrace's language, compiled and run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sonde.consume.events import Value
from sonde.consume.options import Options
from sonde.frontends.bpftrace.check.checker import CheckedProgram
from sonde.frontends.bpftrace.programs.imports import LARGEST_PROGRAM
from sonde.frontends.bpftrace.programs.wanted import FILTER, MODE, PROCESS, TELLS
from sonde.frontends.bpftrace.report import trials as report_trials
from sonde.frontends.bpftrace.report.ending import ending_of
from sonde.frontends.bpftrace.report.text import BtReport
from sonde.library import errors
from sonde.library.compiling import Compiled, For, compiled
from sonde.library.compiling import refuse_without_processes as refuse_without_processes
from sonde.library.foreground import Job, Outlet, run_here
from sonde.library.holding import Held
from sonde.library.outputs import OUTPUT, emptied
from sonde.library.settings import OptionTable
from sonde.machine.own_name import take_name as take_name
from sonde.model.records import AggregationSpec, ArraySpec
from sonde.model.spec import TracingSpec
from sonde.report.output import Showing
from sonde.typed import TYPE_CHECKING, NamedTuple, Protocol
from sonde.untrusted import read_named, text_in

if TYPE_CHECKING:
    from sonde.library.foreground import Watch
    from sonde.session.participants import MakeReport

LANGUAGE = "bpftrace"


def program_of_input() -> str:
    """The text of a program that stands in the standard input. Raises ScriptError."""
    try:
        return text_in(read_named("/dev/stdin", LARGEST_PROGRAM))
    except OSError as error:
        raise errors.ScriptError(f"failed to read the program from the standard input: {error.strerror}") from None


class BtProgram:
    """A compiled program; `attached` is how many probes it is attached to."""

    def __init__(self, made: Compiled) -> None:
        own = made.checked.own
        assert isinstance(own, CheckedProgram)
        self.made = made
        self.own = own

    def warnings(self) -> list[str]:
        """What compiles and may be meant otherwise, each as several lines."""
        return [each.text for each in self.made.checked.warnings(True)]

    def remarks(self) -> list[str]:
        """What descriptions leave out, a line each."""
        return self.made.registry.remarks()

    @property
    def attached(self) -> int:
        return self.own.attached


class MapTexts(Protocol):
    """Gives the texts of an element's key."""

    def __call__(self, spec: AggregationSpec | ArraySpec, key: Sequence[Value], /) -> list[str]: ...


class BtMaps(NamedTuple):
    """The maps of a program while it is shown: the texts of an element's key, None where nothing shows them; what the
    program calls the functions of its aggregations, by name; and which maps are series of moments."""

    texts: MapTexts | None
    functions: Mapping[str, str]
    series: frozenset[str]


def pairs(
    program: tuple[str, str], probe_filter: str = "", tells: bool = False, mode: str = "", process: int = 0
) -> tuple[tuple[str, str], ...]:
    """A program, a `text` or a `file`, and what is wanted of it, as the front end takes it: the filter of its probes,
    whether it `tells` of elements that are not there, the `mode`, `test` or `bench`, that has those run, and the one
    `process` that is traced, if it is one."""
    more: tuple[tuple[str, str], ...] = ((FILTER, probe_filter),) if probe_filter else ()
    more += ((MODE, mode),) if mode else ()
    more += ((PROCESS, str(process)),) if process else ()
    return (program, *more, *(((TELLS, ""),) if tells else ()))


def compile_program(
    programs: Sequence[tuple[str, str]], options: OptionTable, arguments: Sequence[str], held: Held,
    for_values: bool = False, is_portable: bool = False,
) -> BtProgram:  # fmt: skip
    """What `pairs` has made, for the processes that are held; `arguments` are $1 ... and, behind `--`, options;
    `for_values` as `compiled` has it, `is_portable` as `For`. Raises CompileError."""
    wanted = For(held.engine, None, is_portable, None if is_portable else held.process, held.prepare)
    return BtProgram(compiled(LANGUAGE, programs, options, arguments, wanted, LANGUAGE, for_values))


def job_of(
    program: BtProgram, options: OptionTable, watch: Callable[[BtMaps], Watch] | None, texts: MapTexts | None = None
) -> Job:
    """What is to be traced, whoever shows it. `texts` are those of keys where a report of the language shows them."""
    made = program.made
    maps = BtMaps(texts, program.own.functions, frozenset(program.own.series))
    watched = None if watch is None else watch(maps)
    return Job(made.spec, options, made.checked.is_destructive, program=LANGUAGE, watch=watched)


def run_program(
    program: BtProgram, options: OptionTable, held: Held, output: str | None, tell: Callable[[str], None],
    attached: Callable[[], None], is_json: bool = False, warns: bool = True, mode: str = "",
    watch: Callable[[BtMaps], Watch] | None = None,
) -> int:  # fmt: skip
    """Trace to the end; returns the argument of exit(). `attached` is called when all is attached. With a `mode`, that
    of `pairs`, tests or measurements are run, and 1 is returned where one fails. `watch`: who watches its
    maps. Raises Error."""
    reports: list[BtReport] = []

    def texts(spec: AggregationSpec | ArraySpec, key: Sequence[Value]) -> list[str]:
        return reports[0].key_texts(spec, key)

    job = job_of(program, options, watch, texts)
    trials = _trials(program, mode, is_json)

    def report_to(outlet: Outlet) -> MakeReport:
        ending = ending_of(program.made.spec)._replace(is_json=is_json, warns=warns, trials=trials)

        def report(spec: TracingSpec, shown: Options) -> BtReport:
            reports.append(BtReport(spec, shown, Showing(outlet.descriptor, outlet.names), ending))
            return reports[0]

        return report

    output = emptied(output, OUTPUT)
    ended = run_here(job, held, tell, output=output, attached=attached, report_to=report_to, trials=trials)
    return 1 if trials is not None and trials.has_failed else ended.status


def _trials(program: BtProgram, mode: str, is_json: bool) -> report_trials.BtTrials | None:
    if not mode:
        return None

    return report_trials.BtTrials(mode, tuple(report_trials.Trial(*each) for each in program.own.trials), is_json)
