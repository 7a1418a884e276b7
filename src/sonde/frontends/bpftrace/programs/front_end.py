"""bpftrace's language as a front end among others (`frontends.languages`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from sonde.frontends.bpftrace.check import trials
from sonde.frontends.bpftrace.check.checker import CheckedProgram, CheckInput
from sonde.frontends.bpftrace.check.checker import check as check_items
from sonde.frontends.bpftrace.check.definitions import reading
from sonde.frontends.bpftrace.check.known_types import KnownTypes
from sonde.frontends.bpftrace.check.parameters import Parameters, parameters
from sonde.frontends.bpftrace.check.probe_filter import filter_of
from sonde.frontends.bpftrace.check.probes import TRIED, Machine
from sonde.frontends.bpftrace.check.settings import settings_of
from sonde.frontends.bpftrace.errors import BtError, SourceSpan
from sonde.frontends.bpftrace.program_text import ProgramText
from sonde.frontends.bpftrace.programs import headers as programs_headers
from sonde.frontends.bpftrace.programs import mistakes
from sonde.frontends.bpftrace.programs.imports import LARGEST_PROGRAM, ProgramFiles
from sonde.frontends.bpftrace.programs.wanted import Wanted, wanted
from sonde.frontends.bpftrace.syntax import nodes as tree_of
from sonde.frontends.bpftrace.syntax.nodes import AttachPoint
from sonde.frontends.languages import Checked, Part, Remark
from sonde.model import program as tree
from sonde.model.errors import ProgramError, SourceError
from sonde.model.options import OptionTable
from sonde.model.report_texts import ImportedText, MapFunction, MapSeries, ReportTexts, TextSpan
from sonde.model.types import Type
from sonde.model.walk import nodes
from sonde.typed import TYPE_CHECKING, TypeVar
from sonde.untrusted import NoTextError, read_named, text_in

if TYPE_CHECKING:
    from sonde.model.catalog import Catalog

_T = TypeVar("_T")


def check(
    programs: Sequence[tuple[str, str]], options: OptionTable, catalog: Catalog, arguments: Sequence[str],
    process: int | None, name: str,
) -> Checked:  # fmt: skip
    """See `FrontEnd.check`. What there is in `programs` is told by `wanted`. The option `destructive` allows what it
    does to the system. Its `own` is a `CheckedProgram`."""
    given = wanted(programs)
    file = given.file
    words = parameters(arguments)
    files = ProgramFiles(given.given if file is None else content(file), file, words.numbered)
    machine = Machine(catalog, process or 0, is_unsafe=options.on("destructive"))
    try:
        made = _checked(files, given, words, machine, options)
    except SourceError as error:
        raise mistakes.told(error, files.text) from None
    except RecursionError:
        raise mistakes.told(BtError("nested too deeply", SourceSpan(1, 1, 1, 2)), files.text) from None
    text = files.text
    return Checked(
        made.program,
        (Part(file or "stdin", made.clauses),),
        {file: list(text.lines)},
        _is_destructive(made.program),
        lambda found: mistakes.told(found, text),
        _no_types,
        _no_remarks,
        lambda _: _warned(made, text),
        made,
        "bpftrace",
        _report_texts(made, given.tells),
    )


def _report_texts(checked: CheckedProgram, tells: bool) -> ReportTexts:
    """What the program's report is told besides its spec."""
    settings, text = checked.settings, checked.text
    return ReportTexts(
        tuple(MapFunction(*each) for each in checked.functions.items()),
        int(settings["max_strlen"]),
        str(settings["str_trunc_trailer"]).encode(errors="surrogateescape"),
        int(settings["max_cat_bytes"]),
        text.name,
        tuple(text.lines),
        tuple(ImportedText(*each) for each in text.imported),
        tuple(TextSpan(*begin, *end) for begin, end in checked.spans.items()),
        tuple(MapSeries(name, *each) for name, each in checked.series.items()),
        tells,
    )


def _is_tried(item: tree_of.Item) -> bool:
    """Whether it has tests or measurements."""
    return isinstance(item, tree_of.ProbeItem) and any(point.text.startswith(TRIED) for point in item.points)


def _checked(
    files: ProgramFiles, given: Wanted, words: Parameters, machine: Machine, options: OptionTable
) -> CheckedProgram:
    """Raises BtError, and ProgramError for what is wrong with the command line."""
    file, arguments = given.file, words.numbered
    found = tuple(files.items())
    if not any(isinstance(each, tree_of.ProbeItem) for each in found):
        files.missing_probe()
    settings = settings_of([each for each in found if isinstance(each, tree_of.ConfigSetting)], os.environ, file)
    options.set_in_program("strsize", str(settings.values["max_strlen"]))
    options.set_in_program("demangle", "yes" if settings.values["cpp_demangle"] else "no")
    types = _types(found, machine.catalog, options)
    if given.mode or any(_is_tried(each) for each in found):
        machine = machine._replace(trials=trials.TrialProbes(given.mode))
    is_unsafe, names = options.on("destructive"), filter_of(given.filter)
    checked = check_items(
        found,
        CheckInput(
            file,
            files.text,
            arguments,
            machine,
            is_unsafe,
            settings.values,
            types,
            words.named,
            names,
            given.tells,
            given.process,
        ),
    )
    if _has_packets(checked.program):
        options.set_in_program("pcapsize", str(_PACKET))
    return checked._replace(warnings=(*settings.warnings, *checked.warnings))


_PACKET = 65535
"""Bytes of a packet: what is wanted of it the program itself says."""


def _has_packets(program: tree.Program) -> bool:
    return any(
        isinstance(each, tree.Act) and each.name == "pcap" for clause in program.clauses for each in nodes(clause)
    )


def _types(found: Sequence[tree_of.Item], catalog: Catalog, options: OptionTable) -> KnownTypes:
    """The kernel's, and those that the program defines in C. Raises BtError."""
    known = KnownTypes(catalog)
    definitions = [each for each in found if isinstance(each, tree_of.CDefinition)]
    arguments = options.texts("cppargs")
    included = [name for option, name in pairwise(arguments) if option == "-include"]
    if definitions or included:
        headers = programs_headers.HeaderFiles(
            options.texts("incdir"), catalog.tagged_type("struct", "task_struct") is not None
        )
        reading.read_definitions(definitions, headers.find, included, os.uname().machine, known)
    return known


def points_of(
    programs: Sequence[tuple[str, str]], words: Parameters, listed: Callable[[Sequence[AttachPoint]], Iterable[_T]]
) -> list[_T]:
    """What `listed` makes of a program's descriptions of probes. Raises ProgramError."""

    def made(found: Sequence[tree_of.Item]) -> list[_T]:
        return list(listed([point for each in found if isinstance(each, tree_of.ProbeItem) for point in each.points]))

    return parsed(programs, words, made)


def parsed(programs: Sequence[tuple[str, str]], words: Parameters, made: Callable[[Sequence[tree_of.Item]], _T]) -> _T:
    """What is made of a program's syntax tree. Raises ProgramError."""
    given = wanted(programs)
    files = ProgramFiles(given.given if given.file is None else content(given.file), given.file, words.numbered)
    try:
        return made(tuple(files.items()))
    except SourceError as error:
        raise mistakes.told(error, files.text) from None


def content(path: str) -> str:
    """The text of a program's file. Raises ProgramError."""
    try:
        return text_in(read_named(path, LARGEST_PROGRAM))
    except NoTextError as error:
        hint = f"to trace that file as a command: -c {path} -e PROGRAM"
        raise ProgramError(f"failed to read file '{path}': {error.strerror}", hint) from None
    except OSError as error:
        raise ProgramError(f"failed to open file '{path}': {error.strerror}") from None


def _warned(made: CheckedProgram, text: ProgramText) -> list[Remark]:
    if not made.warnings:
        return []

    return [Remark(mistakes.warned(each, text), "") for each in made.warnings]


def _is_destructive(program: tree.Program) -> bool:
    """Whether it does more to the system than look at it."""
    return any(
        (isinstance(node, tree.FormattedCommand) and node.name == "system")
        or (isinstance(node, tree.Act) and node.name in ("raise", "override"))
        or (isinstance(node, tree.Call) and node.name in ("copyout", "copyoutstr"))
        for clause in program.clauses
        for node in nodes(clause)
    )


def _no_types() -> list[Type]:
    return []


def _no_remarks() -> Iterable[Remark]:
    return ()
