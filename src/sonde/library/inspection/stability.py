"""How stable the interfaces are that programs use, in dtrace's words (-v)."""

from __future__ import annotations

from sonde.frontends.d.report.stability import report
from sonde.library.compiling import Compiled


def stability(made: Compiled, number: int, with_arguments: bool = False) -> str:
    """Of one of the programs that were compiled: the least stable of its probe descriptions and of its statements;
    `with_arguments` also each description's own attributes and the types of its probe's `args[]`."""
    programs = made.checked.own
    return report(programs.given[number], programs.checker, made.registry, with_arguments)
