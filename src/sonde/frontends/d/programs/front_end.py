"""D as a front end among others (`frontends.languages`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sonde.frontends.d.errors import DError, in_d
from sonde.frontends.d.programs import excerpts, mistakes
from sonde.frontends.d.programs import remarks as programs_remarks
from sonde.frontends.d.programs.compiling import CheckedPrograms, Given, compile_programs, macros, read
from sonde.frontends.d.programs.destructive import is_destructive
from sonde.frontends.languages import Checked, Part, Remark
from sonde.model.catalog import Catalog
from sonde.model.errors import ProgramError, SourceError
from sonde.model.options import OptionTable


def check(
    programs: Sequence[tuple[str, str]], options: OptionTable, catalog: Catalog, arguments: Sequence[str],
    process: int | None, name: str,
) -> Checked:  # fmt: skip
    """See `FrontEnd.check`. The probe descriptions of a whole text have a body, as in a file: a lone description is a
    mistake. Its `own` is a `CheckedPrograms`."""
    given = [_read(kind, text, options) for kind, text in programs]
    variables = macros(arguments, 0, options)._replace(target=process)
    compiled = compile_programs(given, options, catalog, variables, name)

    def explain(found: SourceError) -> ProgramError:
        mistake = in_d(found)
        wrong = compiled.containing(mistake.position)
        return mistakes.compile_error(mistake, wrong.failure, wrong.original, wrong.is_script, options.on("errtags"))

    def remarks() -> Iterator[Remark]:
        if any("'" in each.original for each in compiled.given):
            yield from programs_remarks.characters(compiled.given)

    return Checked(
        compiled.program,
        tuple(Part(each.title, clauses) for each, clauses in zip(given, compiled.clauses, strict=True)),
        compiled.lines,
        is_destructive(compiled.program),
        explain,
        compiled.checker.declared_types,
        remarks,
        lambda has_processes: _warnings(compiled, has_processes),
        compiled,
        keeping=compiled.checker.keeping_arguments,
    )


def _read(kind: str, text: str, options: OptionTable) -> Given:
    if kind != "text":
        return read(kind, text, options)
    given = read("name", text, options)
    return given._replace(source=given.source._replace(bodiless=False, pspec=options.on("pspec")))


def _warnings(compiled: CheckedPrograms, has_processes: bool) -> Iterator[Remark]:
    for each in compiled.checker.warnings():
        error = DError("", each.text, each.position)
        given = compiled.containing(each.position)
        place, _, lines = excerpts.placed(error, given.original, each.remedy, given.source.file).partition("\n")
        yield Remark(f"{place.rstrip(':')}: warning: {each.text}", lines)
    if not has_processes and any("$target" in each.original for each in compiled.given):
        yield from programs_remarks.targets(compiled.given)
