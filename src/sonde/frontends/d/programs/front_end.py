"""D as a front end among others (`frontends.languages`)."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.frontends.d.programs.compiling import compile_programs, macros, read
from sonde.frontends.d.programs.destructive import is_destructive
from sonde.frontends.d.programs.mistakes import compile_error
from sonde.frontends.languages import Checked
from sonde.model.catalog import Catalog
from sonde.model.errors import DError, ProgramError
from sonde.model.options import OptionTable


def check(
    text: str, is_file: bool, options: OptionTable, catalog: Catalog, arguments: Sequence[str], target: int | None
) -> Checked:
    """See `FrontEnd.check`. Probe descriptions have a body, as in a file: a lone description is a mistake."""
    given = read("file" if is_file else "name", text, options)
    if not is_file:
        given = given._replace(source=given.source._replace(bodiless=False, pspec=options.on("pspec")))
    variables = macros(arguments, 0, options)._replace(target=target)
    compiled = compile_programs([given], options, catalog, variables, "sonde")

    def explain(mistake: DError) -> ProgramError:
        return compile_error(mistake, given.failure, given.original, given.is_script, options.on("errtags"))

    return Checked(compiled.program, compiled.lines, is_destructive(compiled.program), explain)
