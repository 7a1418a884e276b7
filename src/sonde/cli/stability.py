"""How stable a program's interfaces are (-v), and what arguments a probe has (-l -v)."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.cli.programs import Given
from sonde.lang.check.checker import Checker
from sonde.lang.check.kinds import spell
from sonde.lang.check.stability import CLASSES, STABILITIES, Attributes, description_attributes, parse_attributes
from sonde.lang.d.parser import Parser
from sonde.lang.d.source import Macros
from sonde.lang.d.syntax import Identifier, ProbeClause, ScopedVariable
from sonde.lang.program import Argument, Builtin, Clause, KernelObject
from sonde.lang.walk import below, nodes
from sonde.probe import Probe
from sonde.probes.registry import Registry


def _attributes(text: str) -> Attributes:
    parsed = parse_attributes(text)
    assert parsed is not None
    return parsed


_STABLE = _attributes("Stable/Stable/Common")
_PRIVATE = _attributes("Private/Private/Unknown")
_EVOLVING = _attributes("Evolving/Evolving/ISA")
_ARGUMENTS = {
    "dtrace": _STABLE,
    "profile": _attributes("Evolving/Evolving/Common"),
    **dict.fromkeys(
        ("fsinfo", "io", "ip", "lockstat", "mib", "nfsv3", "nfsv4", "proc", "sched", "sysinfo", "tcp", "udp", "vminfo"),
        _EVOLVING,
    ),
}
"""How stable the arguments of a provider's probes are, where they are more than the kernel's own."""


def report(given: Given, clauses: Sequence[Clause], checker: Checker) -> str:
    """The least stable of a program's probe descriptions and of its statements."""
    # It has been parsed and checked already, with its arguments; names alone matter here.
    items = Parser(given.source, Macros(defaultargs=True), checker.is_type_name).items()
    written = [item for item in items if isinstance(item, ProbeClause)]
    specs = [spec for item in written for spec in item.specs]
    descriptions = _least([description_attributes(spec.fields[0]) for spec in specs])
    names = {node.name for item in written for node in below(item) if isinstance(node, (Identifier, ScopedVariable))}
    declared = [attributes for name, attributes in checker.attributes.items() if name in names]
    statements = _least([*declared, *(_of_node(node) for clause in clauses for node in nodes(clause))])
    return (
        f"\nStability attributes for {given.title.replace(chr(39), '')}:\n"
        f"{_block('Minimum Probe Description Attributes', descriptions)}"
        f"{_block('Minimum Statement Attributes', statements)}\n"
    )


def arguments_report(probe: Probe, registry: Registry, is_named: bool = False) -> str:
    """The block that follows a probe in a verbose listing; dtrace's has no names of arguments."""
    arguments = registry.arguments(probe)
    if arguments:
        names = (registry.argument_names(probe) if is_named else None) or ("",) * len(arguments)
        shown = [
            f"{spell(each.shown)}{f'  args->{name}' * bool(name)}" for each, name in zip(arguments, names, strict=False)
        ]
        types = "".join(f"\t\targs[{number}]: {text}\n" for number, text in enumerate(shown))
    else:
        types = "\t\tNone\n"
    # Modules and functions are the kernel's own affair.
    own = _PRIVATE if probe.module or probe.function else _STABLE
    return (
        f"{_block('Probe Description Attributes', own)}"
        f"{_block('Argument Attributes', _ARGUMENTS.get(probe.provider, _PRIVATE))}"
        f"\n\tArgument Types\n{types}\n"
    )


def _block(title: str, attributes: Attributes) -> str:
    return (
        f"\n\t{title}\n"
        f"\t\tIdentifier Names: {STABILITIES[attributes.name]}\n"
        f"\t\tData Semantics:   {STABILITIES[attributes.data]}\n"
        f"\t\tDependency Class: {CLASSES[attributes.dependency]}\n"
    )


def _of_node(node: object) -> Attributes:
    is_kernels = isinstance(node, (KernelObject, Argument)) or (isinstance(node, Builtin) and node.name == "curthread")
    return _PRIVATE if is_kernels else _STABLE


def _least(found: Sequence[Attributes]) -> Attributes:
    columns = zip(*(found or [_STABLE]), strict=True)
    return Attributes(*(min(column) for column in columns))
