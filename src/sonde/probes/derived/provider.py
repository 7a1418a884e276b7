"""A provider whose probes are derived from tracepoints: `proc`, `sched` and the like, each a table of definitions.

A kernel without the tracepoint, or whose tracepoint lacks an argument, does not have the probe.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from sonde.lang import types
from sonde.lang.catalog import Derivation, ProbeArgument
from sonde.lang.types import Struct, Type, Typedef
from sonde.probe import Probe, RawTracepoint
from sonde.probes import type_names
from sonde.probes.derived.definition import Definition, Definitions
from sonde.probes.pattern import Pattern, matcher, matches
from sonde.probes.provider import Block
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.probes.kernel_types import KernelTypes

MODULE = "vmlinux"
"""What DTrace gives as the module of all these probes."""

_NAMED = re.compile(r"\bargs->(\w+)")


class _Found(NamedTuple):
    """A definition that this kernel fits, and the names of its tracepoint's arguments."""

    definition: Definition
    parameters: tuple[str, ...]


class DerivedProvider:
    def __init__(self, name: str, block: Block, definitions: Definitions, kernel: KernelTypes) -> None:
        self._name = name
        self._block = block
        self._definitions = definitions
        self._kernel = kernel
        self._found: dict[str, _Found | None] = {}

    def match(self, pattern: Pattern) -> Sequence[Probe]:
        if not matches(pattern.module, MODULE):
            return ()
        in_function, named = matcher(pattern.function), matcher(pattern.name)
        keys = [key for key in self._definitions if named(_name(key)) and in_function(_function(key))]
        return [probe for key in keys if (probe := self._probe(key)) is not None]

    def by_id(self, identifier: int) -> Probe | None:
        index = identifier - self._block.first
        return self._probe(self._names[index]) if index < len(self._names) else None

    def arguments(self, probe: Probe) -> tuple[ProbeArgument, ...] | None:
        found = self._find(_key(probe))
        if found is None:
            return None
        natives = [self._type(value.type) for value in found.definition.values]
        return tuple(ProbeArgument(natives[n], self._type(kind), n) for kind, n in found.definition.shown)

    def derivation(self, probe: Probe) -> Derivation | None:
        found = self._find(_key(probe))
        if found is None:
            return None
        definition, parameters = found
        source = Probe(0, "rawtp", "", "", definition.tracepoint, probe.firing)
        values = tuple(_numbered(value.text, parameters) for value in definition.values)
        return Derivation(source, _numbered(definition.condition, parameters), values, definition.before)

    @cached_property
    def _names(self) -> list[str]:
        return list(self._definitions)

    def _probe(self, key: str) -> Probe | None:
        found = self._find(key)
        if found is None:
            return None
        firing = RawTracepoint(found.definition.tracepoint, len(found.parameters))
        return Probe(self._block.first + self._names.index(key), self._name, MODULE, _function(key), _name(key), firing)

    def _find(self, name: str) -> _Found | None:
        if name not in self._found:
            fitting = map(self._fit, self._definitions.get(name, ()))
            self._found[name] = next((each for each in fitting if each), None)
        return self._found[name]

    def _fit(self, definition: Definition) -> _Found | None:
        parameters = self._kernel.tracepoint_parameters(definition.tracepoint)
        if parameters is None:
            return None
        texts = (definition.condition, *(value.text for value in definition.values))
        used = {name for text in texts for name in _NAMED.findall(text)}
        return _Found(definition, parameters) if used <= set(parameters) else None

    def _type(self, text: str) -> Type:
        kind = type_names.parse(text, self._lookup, user="__user" in text)
        assert kind is not None, text
        return kind

    def _lookup(self, keyword: str, name: str) -> Type | None:
        """A kernel type, or one that only D libraries can say more about."""
        if not keyword and name == "string":
            return types.STRING
        found = self._kernel.lookup(keyword, name)
        return found or (None if keyword else Typedef(name, Struct("struct", "", 0)))


def _function(key: str) -> str:
    return key.rpartition(":")[0]


def _name(key: str) -> str:
    return key.rpartition(":")[2]


def _key(probe: Probe) -> str:
    return f"{probe.function}:{probe.name}" if probe.function else probe.name


def _numbered(text: str, parameters: tuple[str, ...]) -> str:
    return _NAMED.sub(lambda match: f"args[{parameters.index(match[1])}]", text)
