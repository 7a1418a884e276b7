"""The probe descriptions of programs that have been checked, in their order: for lists of the probes they match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sonde.frontends.d.parser import Parser
from sonde.frontends.d.programs.compiling import CheckedPrograms, macros
from sonde.frontends.d.syntax import ProbeClause, ProbeDescription
from sonde.model.options import OptionTable


def descriptions(
    compiled: CheckedPrograms, options: OptionTable, arguments: Sequence[str], process: int | None
) -> Iterator[ProbeDescription]:
    """Those of all programs. `arguments` are $1, $2 ..., `process` the process that $target means."""
    variables = macros(arguments, 0, options)._replace(target=process)
    for given in compiled.given:
        own = variables._replace(arguments=(given.name, *variables.arguments[1:]))
        for item in Parser(given.source, own, compiled.checker.is_type_name).items():
            if isinstance(item, ProbeClause):
                yield from item.specs
