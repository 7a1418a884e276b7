"""`provider name { probe name(input) : (output); ... };`: what a provider in a user program offers.

Nothing is traced by a definition. It is checked, and one that is repeated must say the same.
"""

from __future__ import annotations

from sonde.frontends.d import syntax
from sonde.frontends.d.check.declarations import prototype
from sonde.frontends.d.check.scope import ProbePrototype, Scope
from sonde.frontends.d.check.translators import find_translator
from sonde.frontends.d.errors import DError
from sonde.model.errors import Position
from sonde.model.kinds import compatible, spell
from sonde.model.program import Const, Deref
from sonde.model.types import Pointer, Type

_NAME_LIMIT = 63
_ARGUMENT_LIMIT = 255


def define_provider(node: syntax.ProviderDefinition, scope: Scope) -> None:
    """Check a definition and add it, or compare it with that of the same name."""
    name = node.name
    _check_name("provider", name, name, node.position)
    if name[-1].isdigit():
        raise DError("D_PROV_BADNAME", f"provider name may not end with a digit: {name}", node.position)
    known = scope.providers.get(name)
    probes: dict[str, ProbePrototype] = {}
    for each in node.probes:
        probe = each.name.replace("__", "-")
        found = _prototype(probe, each, scope)
        if known is not None:
            _compare(name, probe, found, known.get(probe), each.position)
        elif probe in probes:
            raise DError("D_PROV_PRDUP", f"probe redeclared: {name}:{probe}", each.position)
        probes[probe] = found
        _require_translators(f"{name}:{probe}", found, scope, each.position)
    scope.providers[name] = {**probes, **(known or {})}


def _check_name(what: str, name: str, shown: str, position: Position) -> None:
    if "`" in name:
        text = f"{what} name may not contain scoping operator: {shown}"
        raise DError("D_PROV_BADNAME", text, position)
    if len(name) > _NAME_LIMIT:
        text = f"{what} name may not exceed {_NAME_LIMIT} characters: {shown}"
        raise DError("D_PROV_BADNAME", text, position)


def _prototype(probe: str, node: syntax.ProviderProbe, scope: Scope) -> ProbePrototype:
    shown = f"::{probe}"
    _check_name("probe", probe, shown, node.position)
    inputs = _types("input", shown, node.native, scope)
    if node.translated is None:
        return ProbePrototype(inputs, inputs, tuple(range(len(inputs))), False)
    outputs = _types("output", shown, node.translated, scope)
    return ProbePrototype(inputs, outputs, _sources(node.native, node.translated), True)


def _types(what: str, shown: str, part: syntax.FunctionPart, scope: Scope) -> tuple[Type, ...]:
    kinds = prototype(f"probe {what}", part.parameters, part.variadic, scope, part.position)
    if len(kinds) > _ARGUMENT_LIMIT:
        text = f"probe {shown} {what} prototype exceeds {_ARGUMENT_LIMIT} parameters: {len(kinds)} params used"
        raise DError("D_PROV_PRARGLEN", text, part.position)
    return kinds


def _sources(inputs: syntax.FunctionPart, outputs: syntax.FunctionPart) -> tuple[int, ...]:
    """Which input each output is made from: the one of its name."""
    names = [each.declarator.name for each in inputs.parameters]
    sources: list[int] = []
    for number, each in enumerate(outputs.parameters, 1):
        name = each.declarator.name
        if name is None and not _is_void(each):
            raise DError(
                "D_DECL_PROTO_NAME", f"parameter declaration requires a name: parameter #{number}", each.position
            )
        if name is not None and name not in names:
            text = f"parameter is not declared in probe output prototype: {name}, parameter #{number}"
            raise DError("D_DECL_PROTO_FORM", text, each.position)
        if name is not None:
            sources.append(names.index(name))
    return tuple(sources)


def _is_void(parameter: syntax.Parameter) -> bool:
    types = parameter.specifiers.types
    is_word = len(types) == 1 and isinstance(types[0], syntax.TypeWord) and types[0].text == "void"
    return is_word and not parameter.declarator.parts


def _require_translators(shown: str, probe: ProbePrototype, scope: Scope, position: Position) -> None:
    for number, (output, source) in enumerate(zip(probe.outputs, probe.sources, strict=True), 1):
        given = probe.inputs[source]
        if compatible(given, output) or find_translator(output, _sample(given, position), scope):
            continue
        text = f"translator for {shown} output argument #{number} from {spell(given)} to {spell(output)} is not defined"
        raise DError("D_PROV_PRXLATOR", text, position)


def _sample(kind: Type, position: Position) -> Deref:
    return Deref(kind, position, Const(Pointer(kind), position, 0))


# The same provider once more


def _compare(
    provider: str, probe: str, current: ProbePrototype, previous: ProbePrototype | None, position: Position
) -> None:
    mismatch = f"provider interface mismatch: {provider}"
    if previous is None:
        text = f"{mismatch}\n\t current: probe {provider}:{probe} defined"
        raise DError("D_PROV_INCOMPAT", f"{text}\n\tprevious: probe {provider}:{probe} not defined", position)
    shown = f"{provider}:{probe}"
    _compare_types(shown, "output", current.outputs, previous.outputs, position)
    _compare_types(shown, "input", current.inputs, previous.inputs, position)
    if current.has_output != previous.has_output:
        words = ["an output prototype" if each.has_output else "no output prototype" for each in (current, previous)]
        text = f"{mismatch}\n\t current: probe {shown} has {words[0]}\n\tprevious: probe {shown} has {words[1]}"
        raise DError("D_PROV_INCOMPAT", text, position)


def _compare_types(
    shown: str, what: str, current: tuple[Type, ...], previous: tuple[Type, ...], position: Position
) -> None:
    if len(current) != len(previous):
        text = (
            f"probe {shown} {what} prototype mismatch:\n\t current: {_count(current)}\n\tprevious: {_count(previous)}"
        )
        raise DError("D_PROV_INCOMPAT", text, position)
    for number, (now, before) in enumerate(zip(current, previous, strict=True), 1):
        if not compatible(now, before):
            text = f"probe {shown} {what} prototype argument #{number} mismatch:"
            raise DError("D_PROV_INCOMPAT", f"{text}\n\t current: {spell(now)}\n\tprevious: {spell(before)}", position)


def _count(kinds: tuple[Type, ...]) -> str:
    return f"{len(kinds)} arg{'' if len(kinds) == 1 else 's'}"
