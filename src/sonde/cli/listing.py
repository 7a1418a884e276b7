"""Listing probes (-l)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sonde.cli.arguments import Arguments
from sonde.cli.engines import choose_listed
from sonde.cli.kernels import registry_of
from sonde.cli.messages import Messages
from sonde.cli.output import show
from sonde.cli.processes import processes
from sonde.cli.programs import Given, compile_programs, macros, read
from sonde.cli.stability import arguments_report
from sonde.lang.check.checker import Checker
from sonde.lang.d.parser import Parser
from sonde.lang.d.source import Macros
from sonde.lang.d.syntax import ProbeClause, ProbeSpec
from sonde.options import OptionTable
from sonde.probe import Probe
from sonde.probes.registry import Registry
from sonde.visible import single_line

_ROW = "{:>5} {:>10} {:>17} {:>33} {}\n"


def list_probes(arguments: Arguments, options: OptionTable, messages: Messages) -> int:
    """List what the programs' descriptions match, or all there is; a description without probes is only reported."""
    options.set("zdefs", None)
    engine = choose_listed(options, messages)
    registry = registry_of(arguments, engine)
    if not arguments.programs:
        _show(registry.match("", "", "", ""), arguments, registry, heading=True)
        return 0
    with processes(arguments, options, engine) as traced:
        _list_matching(arguments, options, messages, registry, traced[0].pid if traced else 0)
    return 0


def _list_matching(
    arguments: Arguments, options: OptionTable, messages: Messages, registry: Registry, target: int
) -> None:
    given = [read(each, options) for each in arguments.programs]
    variables = macros(arguments.operands, target, options)
    compiled = compile_programs(given, options, registry, variables, messages.program)
    _show((), arguments, registry, heading=True)
    for each in given:
        for spec in _descriptions(each, compiled.checker, variables):
            probes = _matching(spec, registry)
            _show(probes, arguments, registry)
            if not probes:
                messages.error(f"failed to match {':'.join(_fields(spec))}: No probe matches description")


def _descriptions(given: Given, checker: Checker, variables: Macros) -> Iterator[ProbeSpec]:
    """The probe descriptions of a program that is known to be correct, in order."""
    own = variables._replace(arguments=(given.name, *variables.arguments[1:]))
    for item in Parser(given.source, own, checker.is_type_name).items():
        if isinstance(item, ProbeClause):
            yield from item.specs


def _matching(spec: ProbeSpec, registry: Registry) -> Sequence[Probe]:
    if spec.identifier is None:
        return registry.match(*spec.fields)
    probe = registry.by_id(spec.identifier)
    return (probe,) if probe else ()


def _fields(spec: ProbeSpec) -> tuple[str, ...]:
    return spec.fields if spec.identifier is None else ("", "", "", str(spec.identifier))


def _show(probes: Sequence[Probe], arguments: Arguments, registry: Registry, heading: bool = False) -> None:
    rows = [_ROW.format("ID", "PROVIDER", "MODULE", "FUNCTION", "NAME")] if heading else []
    for probe in probes:
        rows.append(
            _ROW.format(probe.id, *map(single_line, (probe.provider, probe.module, probe.function, probe.name)))
        )
        if "verbose" in arguments.flags:
            rows.append(arguments_report(probe, registry))
    show("".join(rows))
