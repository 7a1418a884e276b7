"""A provider whose probes are derived from tracepoints: `proc`, `sched` and the like, each a table of definitions.

A kernel without the tracepoint, or whose tracepoint lacks an argument, does not have the probe.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from sonde.lang import types
from sonde.lang.catalog import Derivation, ProbeArgument
from sonde.lang.types import Function, Pointer, Struct, Type, Typedef
from sonde.probe import Probe, RawTracepoint
from sonde.probes import type_names
from sonde.probes.derived.definition import Definition, Definitions, Value
from sonde.probes.pattern import Pattern, matcher, matches, plain
from sonde.probes.provider import Block
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.probes.kernel_types import KernelTypes

MODULE = "vmlinux"
"""What DTrace gives as the module of all these probes."""

_NAMED = re.compile(r"\bargs->(\w+)")
_FUNCTION = re.compile(r"`(\w+)")

_CALLBACK = "void (*)(void)"
_CALLBACK_TYPE = Pointer(Function(types.VOID, ()))


class DerivedProvider:
    def __init__(self, name: str, block: Block, definitions: Definitions, kernel: KernelTypes) -> None:
        self._name = name
        self._block = block
        self._definitions = definitions
        self._kernel = kernel
        self._found: dict[str, Definition | None] = {}

    def match(self, pattern: Pattern) -> Sequence[Probe]:
        if not matches(pattern.module, MODULE) or not matches(pattern.function, ""):
            return ()
        name = plain(pattern.name)
        test = matcher(pattern.name)
        names = [name] if name else [each for each in self._definitions if test(each)]
        return [probe for each in names if (probe := self._probe(each)) is not None]

    def by_id(self, identifier: int) -> Probe | None:
        index = identifier - self._block.first
        return self._probe(self._names[index]) if index < len(self._names) else None

    def arguments(self, probe: Probe) -> tuple[ProbeArgument, ...] | None:
        found = self._find(probe.name)
        if found is None:
            return None
        natives = [self._type(value.type) for value in found.values]
        return tuple(ProbeArgument(natives[n], self._type(kind), n) for kind, n in found.shown)

    def derivations(self, probe: Probe) -> tuple[Derivation, ...]:
        """How the probe follows from its tracepoints."""
        found = self._find(probe.name)
        return tuple(map(self._derivation, (found, *found.more))) if found else ()

    def _derivation(self, definition: Definition) -> Derivation:
        source = Probe(0, "rawtp", "", "", definition.tracepoint, self._firing(definition))
        return Derivation(
            source, definition.condition, tuple(value.text for value in definition.values), definition.before
        )

    @cached_property
    def _names(self) -> list[str]:
        return list(self._definitions)

    def _probe(self, name: str) -> Probe | None:
        found = self._find(name)
        if found is None:
            return None
        place = self._block.first + self._names.index(name)
        return Probe(place, self._name, MODULE, "", name, self._firing(found))

    def _firing(self, definition: Definition) -> RawTracepoint:
        parameters = self._kernel.tracepoint_parameters(definition.tracepoint)
        return RawTracepoint(definition.tracepoint, len(parameters or ()))

    def _find(self, name: str) -> Definition | None:
        """The definition that this kernel fits, in D that needs no more than the tracepoint's `args[]`."""
        if name not in self._found:
            fitting = map(self._fit, self._definitions.get(name, ()))
            self._found[name] = next((each for each in fitting if each), None)
        return self._found[name]

    def _fit(self, definition: Definition) -> Definition | None:
        parameters = self._kernel.tracepoint_parameters(definition.tracepoint)
        if parameters is None:
            return None
        values = []
        for kind, text in (("", definition.condition), *definition.values):
            resolved = self._resolve(text, parameters)
            if resolved is None:
                return None
            values.append(Value(kind, resolved))
        more = tuple(each for each in map(self._fit, definition.more) if each)
        return definition._replace(condition=values[0].text, values=tuple(values[1:]), more=more)

    def _resolve(self, text: str, parameters: tuple[str, ...]) -> str | None:
        """The text with numbers in place of names; None where a name means nothing to this kernel."""
        if not set(_NAMED.findall(text)) <= set(parameters):
            return None
        if any(self._kernel.function(name) is None for name in _FUNCTION.findall(text)):
            return None
        return _NAMED.sub(lambda match: f"args[{parameters.index(match[1])}]", text)

    def _type(self, text: str) -> Type:
        if text == _CALLBACK:
            return _CALLBACK_TYPE
        kind = type_names.parse(text, self._lookup, user="__user" in text)
        assert kind is not None, text
        return kind

    def _lookup(self, keyword: str, name: str) -> Type | None:
        """A kernel type, or one that only D libraries can say more about."""
        if not keyword and name == "string":
            return types.STRING
        found = self._kernel.lookup(keyword, name)
        return found or (None if keyword else Typedef(name, Struct("struct", "", 0)))
