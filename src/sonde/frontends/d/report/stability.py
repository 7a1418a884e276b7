"""How stable a program's interfaces are (-v), and what arguments a probe has (-l -v)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sonde.frontends.d.check.checker import Checker
from sonde.frontends.d.check.stability import (
    CLASSES,
    STABILITIES,
    StabilityAttributes,
    description_attributes,
    is_ambiguous,
    least,
    provider_stability,
)
from sonde.frontends.d.parser import Parser
from sonde.frontends.d.programs.compiling import Given
from sonde.frontends.d.syntax import Identifier, ProbeClause, ProbeDescription, ScopedVariable
from sonde.model.catalog import Catalog
from sonde.model.kinds import spell
from sonde.model.probe import Probe
from sonde.model.walk import below
from sonde.visible import single_line

_STABLE = StabilityAttributes(STABILITIES.index("Stable"), STABILITIES.index("Stable"), CLASSES.index("Common"))
_PRIVATE = StabilityAttributes(STABILITIES.index("Private"), STABILITIES.index("Private"), CLASSES.index("Unknown"))
_CURTHREAD = StabilityAttributes(STABILITIES.index("Stable"), STABILITIES.index("Private"), CLASSES.index("Common"))
_OF_PROBE = {"probeprov": 0, "probemod": 1, "probefunc": 2, "probename": 3, "args": 4}
"""Variables that are as stable as their provider says, by the place in its Stability."""


def report(given: Given, checker: Checker, catalog: Catalog, with_arguments: bool) -> str:
    """The least stable of a program's probe descriptions and of its statements; with arguments also each description's
    own attributes and the types of its probe's `args[]`."""
    # It has been parsed and checked already, with all its arguments.
    items = Parser(given.source, given.variables._replace(defaultargs=True), checker.is_type_name).items()
    written = [item for item in items if isinstance(item, ProbeClause)]
    specs = [_fields(spec, catalog) for item in written for spec in item.specs]
    matched = {fields: catalog.match(*fields) for fields in specs}
    descriptions = _least([description_attributes(fields, len(matched[fields])) for fields in specs])
    statements = _least([found for item in written for found in _of_statements(item, checker, catalog)])
    return (
        f"\nStability attributes for {given.title.replace(chr(39), '')}:\n"
        f"{_block('Minimum Probe Description Attributes', descriptions)}"
        f"{_block('Minimum Statement Attributes', statements)}"
        f"{''.join(_descriptions(specs, matched, catalog)) if with_arguments else chr(10)}"
    )


def _of_statements(item: ProbeClause, checker: Checker, catalog: Catalog) -> Iterator[StabilityAttributes]:
    """Of what a clause names: its own declarations, the kernel's data, and what its probe's provider has."""
    providers = [provider_stability(_fields(spec, catalog)[0]) for spec in item.specs]
    for node in below(item):
        if not isinstance(node, (Identifier, ScopedVariable)):
            continue
        if isinstance(node, Identifier) and node.module is not None:
            yield _PRIVATE
        elif node.name in checker.attributes:
            yield checker.attributes[node.name]
        elif node.name == "curthread":
            yield _CURTHREAD
        elif node.name in _OF_PROBE:
            yield from (each[_OF_PROBE[node.name]] for each in providers)


def _fields(spec: ProbeDescription, catalog: Catalog) -> tuple[str, str, str, str]:
    probe = None if spec.identifier is None else catalog.by_id(spec.identifier)
    return spec.fields if probe is None else (probe.provider, probe.module, probe.function, probe.name)


def _descriptions(
    specs: Sequence[tuple[str, str, str, str]],
    matched: Mapping[tuple[str, str, str, str], Sequence[Probe]],
    catalog: Catalog,
) -> Iterator[str]:
    """A block for each description, as far as DTrace goes: it stops at the first whose probes may differ."""
    for fields in specs:
        yield f"\n{single_line(':'.join(fields))}\n"
        if not matched[fields] or (len(matched[fields]) > 1 and is_ambiguous(fields)):
            return
        first = matched[fields][0]
        yield _probe_block(description_attributes(fields), provider_stability(fields[0]).arguments, first, catalog)


def arguments_report(probe: Probe, catalog: Catalog, is_named: bool = False) -> str:
    """The block that follows a probe in a verbose listing; dtrace's has no names of arguments."""
    fields = (probe.provider, probe.module, probe.function, probe.name)
    own, arguments = description_attributes(fields), provider_stability(probe.provider).arguments
    return _probe_block(own, arguments, probe, catalog, is_named)


def _probe_block(
    own: StabilityAttributes, of_arguments: StabilityAttributes, probe: Probe, catalog: Catalog, is_named: bool = False
) -> str:
    arguments = catalog.arguments(probe)
    if arguments:
        names = (catalog.argument_names(probe) if is_named else None) or ("",) * len(arguments)
        shown = [
            f"{spell(each.shown)}{f'  args->{name}' * bool(name)}" for each, name in zip(arguments, names, strict=False)
        ]
        types = "".join(f"\t\targs[{number}]: {text}\n" for number, text in enumerate(shown))
    else:
        types = "\t\tNone\n"
    return (
        f"{_block('Probe Description Attributes', own)}"
        f"{_block('Argument Attributes', of_arguments)}"
        f"\n\tArgument Types\n{types}\n"
    )


def _block(title: str, attributes: StabilityAttributes) -> str:
    return (
        f"\n\t{title}\n"
        f"\t\tIdentifier Names: {STABILITIES[attributes.name]}\n"
        f"\t\tData Semantics:   {STABILITIES[attributes.data]}\n"
        f"\t\tDependency Class: {CLASSES[attributes.dependency]}\n"
    )


def _least(found: Sequence[StabilityAttributes]) -> StabilityAttributes:
    return least(found or (_STABLE,))
