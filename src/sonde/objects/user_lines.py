"""Probe lines in programs and libraries, at code or at static probes."""

from __future__ import annotations

from sonde.objects import static_probes
from sonde.objects.lines import ProbeLine
from sonde.objects.traceable_code import TraceableCode
from sonde.objects.user import found_file
from sonde.objects.user_variables import UserPlace, code_places, variable_at


def user_line(line: ProbeLine, traceable: TraceableCode) -> list[UserPlace]:
    """The places of a line, and its variables at each. Raises ObjectError."""
    path = found_file(line.path)
    return _sites(path, line, traceable) if line.function.startswith("%") else code_places(path, line, traceable)


def _sites(path: str, line: ProbeLine, traceable: TraceableCode) -> list[UserPlace]:
    """The sites of a line's `%PROVIDER:NAME`, each with its arguments and what debug information locates there."""
    # What notes and operands are read with.

    provider, _, name = line.function[1:].partition(":")
    found: list[UserPlace] = []
    for site in static_probes.static_sites(path, provider, name, repr(line.text), traceable):
        fired = static_probes.firing(path, site, repr(line.text), traceable)
        variables = (
            static_probes.static_argument(line, site, each)
            if static_probes.is_argument(each)
            else variable_at(line, fired, each, traceable)
            for each in line.variables
        )
        found.append(((fired,), tuple(variables)))
    return found
