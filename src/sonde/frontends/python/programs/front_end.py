"""Probe functions of Python as a front end among others (`frontends.languages`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.frontends.d import syntax
from sonde.frontends.d.check.checker import Checker
from sonde.frontends.d.check.undefined import UNDEFINED
from sonde.frontends.d.errors import in_d
from sonde.frontends.d.programs.compiling import checker_of
from sonde.frontends.d.programs.destructive import is_destructive
from sonde.frontends.languages import Checked, Part, Remark
from sonde.frontends.python.captured import CapturedProgram, program_of
from sonde.frontends.python.check.signs import NeedsSignError
from sonde.frontends.python.lowering.clauses import Clauses
from sonde.frontends.python.programs import mistakes
from sonde.frontends.python.programs.later import set_later
from sonde.frontends.python.programs.lines import CapturedLines
from sonde.model.catalog import Catalog
from sonde.model.errors import ProgramError, SourceError
from sonde.model.options import OptionTable
from sonde.model.program import Clause, Variable
from sonde.model.spec import SourceFunction
from sonde.model.types import LONG
from sonde.typed import NamedTuple


def check(
    programs: Sequence[tuple[str, str]], options: OptionTable, catalog: Catalog, arguments: Sequence[str],
    process: int | None, name: str,
) -> Checked:  # fmt: skip
    """See `FrontEnd.check`. A program is the text of a `CapturedProgram`. Its `own` is the checker."""
    captured = [_read(kind, text) for kind, text in programs]
    lines = CapturedLines(each for program in captured for each in program.functions)
    # Records are lines of print(): what D writes before each is no part of them.
    options.set_in_program("quiet", None)
    try:
        made = _checked(captured, options, catalog, process, lines)
    except SourceError as error:
        raise mistakes.told(error, lines) from None
    except RecursionError:
        raise ProgramError("a probe function is nested too deeply") from None
    program = made.checker.program()._replace(follows_lines=True)
    return Checked(
        program,
        tuple(Part(title, clauses) for title, clauses in made.parts),
        lines.by_file(),
        is_destructive(program),
        lambda found: mistakes.told(found, lines),
        made.checker.declared_types,
        _no_remarks,
        lambda _: _warned(made.checker, lines),
        made.checker,
        functions=tuple(_functions(captured, made)),
    )


def _functions(captured: Sequence[CapturedProgram], made: _Made) -> Iterable[SourceFunction]:
    """The functions that were captured, each with its clauses, whose places are in it."""
    clauses = [clause for _, several in made.parts for clause in several if clause.id > 0]
    for each in dict.fromkeys((f.name, f.file, f.line, f.source) for program in captured for f in program.functions):
        name, file, first, source = each
        last = first + source.count("\n")
        own = (c.id for c in clauses if c.position.file == file and first <= c.position.line <= last)
        yield SourceFunction(name, file, first, last, tuple(own))


def _read(kind: str, text: str) -> CapturedProgram:
    """Raises ProgramError."""
    try:
        if kind == "text":
            return program_of(text)
    except ValueError:
        pass
    raise ProgramError("this is no program of probe functions", "give the functions themselves: sonde.compile(entered)")


class _Made(NamedTuple):
    checker: Checker
    parts: tuple[tuple[str, tuple[Clause, ...]], ...]


def _checked(
    captured: Sequence[CapturedProgram], options: OptionTable, catalog: Catalog, process: int | None,
    lines: CapturedLines,
) -> _Made:  # fmt: skip
    """Functions may use what later ones set, and give a sign to what others have set: they are checked again with the
    variables that have been found, until no more are. Then those are looked for that a function sets behind where it
    uses them; and what is made of nothing but itself is a number."""
    written: list[tuple[str, syntax.ProbeClause]] = []
    sources: list[Clauses] = []
    for number, program in enumerate(captured):
        clauses = Clauses(program, process, number)
        sources.append(clauses)
        initial = clauses.initial()
        if initial is not None:
            written.append(("variables of the module", initial))
        written += [(f"function {program.functions[n].name}", clauses.clause(n)) for n in program.clauses]
    known: dict[tuple[str, str], Variable] = {}
    tried_all = False
    while True:
        checker = checker_of(options, catalog, process)
        for each in known.values():
            checker.declare(each)
        try:
            parts, missing = _all_checked(written, checker, lines)
        except NeedsSignError as error:
            known = {**checker.variables, error.variable: checker.variables[error.variable]._replace(type=LONG)}
            continue
        if missing is None:
            return _Made(checker, tuple(parts))
        if checker.variables.keys() <= known.keys():
            set_later(written, checker)
        if checker.variables.keys() <= known.keys():
            if tried_all:
                raise missing
            tried_all = True
            for clauses in sources:
                clauses.take_for_numbers()
        known = dict(checker.variables)


def _all_checked(
    written: Sequence[tuple[str, syntax.ProbeClause]], checker: Checker, lines: CapturedLines
) -> tuple[list[tuple[str, tuple[Clause, ...]]], SourceError | None]:
    """The clauses of each function, and the first mistake that is only the lack of a variable. One that the checker has
    seen in a library of D's is told of the function that uses that."""
    parts = []
    missing: SourceError | None = None
    for title, clause in written:
        before = len(checker.clauses)
        try:
            checker.add_source([clause])
        except SourceError as error:
            here = error if lines.has(error.position) else in_d(error, clause.position)
            if error.tag not in UNDEFINED:
                raise here from None
            missing = missing or here
        parts.append((title, checker.clauses[before:]))
    return parts, missing


def _warned(checker: Checker, lines: CapturedLines) -> Iterable[Remark]:
    for each in checker.warnings():
        yield mistakes.warned(each, lines)


def _no_remarks() -> Iterable[Remark]:
    return ()
