"""Listing probes (-l)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sonde.cli.arguments import Arguments
from sonde.cli.messages import Messages
from sonde.cli.output import show
from sonde.cli.stability import arguments_report
from sonde.frontends.d.check.checker import Checker
from sonde.frontends.d.parser import Parser
from sonde.frontends.d.programs.compiling import Given, compile_programs, macros, read
from sonde.frontends.d.source import Macros
from sonde.frontends.d.syntax import ProbeClause, ProbeSpec
from sonde.library.listing import described
from sonde.model.options import OptionTable
from sonde.model.probe import Probe
from sonde.session.engines import choose_listed
from sonde.session.kernels import registry_of
from sonde.session.processes import processes
from sonde.session.registry import Registry
from sonde.visible import single_line

_NAMES = 4
"""Of a probe: provider, module, function and name."""

_ROW = "{:>5} {:>10} {:>17} {:>33} {}\n"


def list_probes(arguments: Arguments, options: OptionTable, messages: Messages) -> int:
    """List what the programs' descriptions match, or all there is; a description without probes is only reported."""
    options.set("zdefs", None)
    engine = choose_listed(options, messages.error)
    registry = registry_of(engine, arguments.btf, arguments.save is not None)
    is_named = messages.has_hints and messages.program != "dtrace"
    show_probes = _Listing(registry, "verbose" in arguments.flags, is_named)
    if not arguments.programs and arguments.operands and messages.program != "dtrace":
        with processes(arguments.commands, arguments.process_numbers(), options, engine) as traced:
            return _list_patterns(arguments, messages, show_probes, traced[0].pid if traced else 0)
    if not arguments.programs:
        show_probes(registry.match("", "", "", ""), heading=True)
        return 0
    with processes(arguments.commands, arguments.process_numbers(), options, engine) as traced:
        _list_matching(arguments, options, messages, show_probes, traced[0].pid if traced else 0)
    return 0


class _Listing:
    """Shows probes of a registry, with their arguments if `is_verbose`, and with the names of these if `is_named`."""

    def __init__(self, registry: Registry, is_verbose: bool, is_named: bool) -> None:
        self.registry = registry
        self._is_verbose = is_verbose
        self._is_named = is_named

    def __call__(self, probes: Sequence[Probe], heading: bool = False) -> None:
        rows = [_ROW.format("ID", "PROVIDER", "MODULE", "FUNCTION", "NAME")] if heading else []
        for probe in probes:
            names = map(single_line, (probe.provider, probe.module, probe.function, probe.name))
            rows.append(_ROW.format(probe.id, *names))
            if self._is_verbose:
                rows.append(arguments_report(probe, self.registry, self._is_named))
        show("".join(rows))


def _list_patterns(arguments: Arguments, messages: Messages, show_probes: _Listing, target: int) -> int:
    """Those that words alone describe; 1 if there are none for one of them."""
    registry = show_probes.registry
    show_probes((), heading=True)
    status = 0
    for word in arguments.operands:
        probes = described(word.replace("$target", str(target)), registry)
        show_probes(probes)
        if not probes:
            messages.error(f"failed to match {word}: No probe matches description", hint=_hint(word, registry))
            status = 1
    return status


def _hint(word: str, registry: Registry) -> str:
    if {"{", "/"} & set(word):
        return f"-l lists probes, and this is a program: sonde -ln '{word}'"
    fields = word.split(":")
    if len(fields) > _NAMES:
        return "a description has four names: provider:module:function:name"
    if len(fields) > 1:
        return registry.mismatch(*fields, *("" for _ in range(_NAMES - len(fields))))
    contain = f"names that contain it: sonde -l '*{word}*'"
    return "\n".join(
        filter(None, (registry.mismatch("", "", word, ""), contain if described(f"*{word}*", registry) else ""))
    )


def _list_matching(
    arguments: Arguments, options: OptionTable, messages: Messages, show_probes: _Listing, target: int
) -> None:
    registry = show_probes.registry
    given = [read(*each, options) for each in arguments.programs]
    variables = macros(arguments.operands, target, options)
    compiled = compile_programs(given, options, registry, variables, messages.program)
    show_probes((), heading=True)
    for each in given:
        for spec in _descriptions(each, compiled.checker, variables):
            probes = _matching(spec, registry)
            show_probes(probes)
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
