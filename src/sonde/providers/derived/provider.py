"""A provider whose probes are derived from others: `proc`, `sched` and the like, each a table of definitions.

A kernel without the tracepoint, or whose tracepoint lacks an argument, does not have the probe; nor does one that does
not let the function be probed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property

from sonde.model import types
from sonde.model.catalog import Derivation, TypedArgument
from sonde.model.probe import Probe, RawTracepoint
from sonde.model.types import Function, Pointer, Struct, Type, Typedef
from sonde.providers import type_names
from sonde.providers.derived.definition import Absent, Definition, Definitions, NativeArgument
from sonde.providers.pattern import Pattern, matcher, matches, plain
from sonde.providers.provider import IdentifierBlock
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.providers.kernel_types import KernelTypes

MODULE = "vmlinux"
"""What DTrace gives as the module of all these probes."""

_NAMED = re.compile(r"\bargs->(\w+)")
_FUNCTION = re.compile(r"`(\w+)")

NOTHING_ABSENT: Absent = {}


def _nothing(*_fields: str) -> Sequence[Probe]:
    """There are no other providers."""
    return ()


_CALLBACK = "void (*)(void)"
_CALLBACK_TYPE = Pointer(Function(types.VOID, ()))


class DerivedProvider:
    def __init__(
        self,
        name: str,
        block: IdentifierBlock,
        definitions: Definitions,
        kernel: KernelTypes,
        match: Callable[[str, str, str, str], Sequence[Probe]] = _nothing,
        absent: Absent = NOTHING_ABSENT,
    ) -> None:
        """`match` finds the probes of other providers."""
        self._name = name
        self._block = block
        self._definitions = definitions
        self._kernel = kernel
        self._match = match
        self._absent = absent
        self._found: dict[str, Definition | None] = {}
        self._sources: dict[str, Probe | None] = {}

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

    def arguments(self, probe: Probe) -> tuple[TypedArgument, ...] | None:
        found = self._find(probe.name)
        if found is None:
            return None
        natives = [self._type(value.type) for value in found.values]
        return tuple(TypedArgument(natives[n], self._type(kind), n) for kind, n in found.shown)

    def derivations(self, probe: Probe) -> tuple[Derivation, ...]:
        """How the probe follows from its tracepoints."""
        found = self._find(probe.name)
        most = max(len(each.values) for each in self._definitions[probe.name]) if found else 0
        return tuple(self._derivation(each, most) for each in (found, *found.more)) if found else ()

    def defines(self, pattern: str) -> bool:
        """Whether there is a probe of that name, or pattern, where the events are that it follows from."""
        test = matcher(pattern)
        return any(map(test, self._definitions))

    def absence(self, name: str) -> str:
        """Why there is no probe of that name, or pattern, "" if nobody knows."""
        definitions = self._definitions.get(name)
        if definitions:
            # One that there is has another module or function than the description asks for.
            return "" if self._find(name) is not None else _needs(definitions)
        return next((why for pattern, why in self._absent.items() if matches(pattern, name)), "")

    def is_unknown(self, name: str) -> bool:
        """Whether nothing is said of that name but of all names that the provider does not know."""
        return not self.defines(name) and next((each for each in self._absent if matches(each, name)), "*") == "*"

    def _derivation(self, definition: Definition, most: int) -> Derivation:
        source = self._source(definition.event)
        assert source is not None
        values = tuple(value.text for value in definition.values)
        return Derivation(source, definition.condition, values, definition.before, most)

    def _source(self, event: str) -> Probe | None:
        """The probe underneath, None if this kernel does not have it."""
        if event not in self._sources:
            self._sources[event] = self._find_source(event)
        return self._sources[event]

    def _find_source(self, event: str) -> Probe | None:
        provider, _, rest = event.partition(":")
        if not rest:
            parameters = self._kernel.tracepoint_parameters(event)
            firing = RawTracepoint(event, len(parameters or ()))
            return None if parameters is None else Probe(0, "rawtp", "", "", event, firing)
        function, _, name = rest.rpartition(":")
        found = self._match(provider, MODULE if function else "", function, name)
        return found[0] if found else None

    def _parameters(self, source: Probe) -> tuple[str, ...]:
        """The names of the event's arguments; a return has none."""
        if source.provider == "rawtp":
            return self._kernel.tracepoint_parameters(source.name) or ()
        found = self._kernel.function(source.function) if source.name == "entry" else None
        return found[1] if found else ()

    @cached_property
    def _names(self) -> list[str]:
        return list(self._definitions)

    def _probe(self, name: str) -> Probe | None:
        found = self._find(name)
        if found is None:
            return None
        place = self._block.first + self._names.index(name)
        source = self._source(found.event)
        return Probe(place, self._name, MODULE, "", name, source.firing) if source else None

    def _find(self, name: str) -> Definition | None:
        """The definition that this kernel fits, in D that needs no more than the event's `args[]`."""
        if name not in self._found:
            fitting = map(self._fit, self._definitions.get(name, ()))
            self._found[name] = next((each for each in fitting if each), None)
        return self._found[name]

    def _fit(self, definition: Definition) -> Definition | None:
        source = self._source(definition.event)
        if source is None:
            return None
        parameters = self._parameters(source)
        values = []
        for kind, text in (("", definition.condition), *definition.values):
            resolved = self._resolve(text, parameters)
            if resolved is None:
                return None
            values.append(NativeArgument(kind, resolved))
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
        return found or (Struct(keyword, name, 0) if keyword else Typedef(name, Struct("struct", "", 0)))


def _needs(definitions: tuple[Definition, ...]) -> str:
    """What a kernel must have for a probe."""
    events = [each.event for each in definitions if not each.is_embedded]
    named = " or ".join(event if ":" in event else f"the tracepoint {event}" for event in events)
    functions = any(event.startswith("fbt:") for event in events)
    hint = "\n`sonde doctor` tells whether this kernel lets functions be probed" if functions else ""
    return f"this kernel lacks {named}, or an argument of it{hint}"
