"""The `sdt` provider: `sdt:GROUP::EVENT` for every trace event of the kernel.

Where tracefs can be read an event fires through perf with the record its format file describes, and `args[]` are the
fields of that record. Elsewhere (a user with CAP_BPF and CAP_PERFMON only) it fires as a raw tracepoint and `args[]`
are the tracepoint's own arguments. BTF does not know groups: then the module is empty, and a description that names an
event outright may name any group with it, since tracepoints have one name space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sonde.model import types
from sonde.model.catalog import TypedArgument
from sonde.model.probe import Probe, RawTracepoint, Tracepoint
from sonde.model.types import Array, Int, Type, resolve, size_of
from sonde.providers import type_names
from sonde.providers.pattern import Pattern, is_word, matcher, matches, plain
from sonde.providers.provider import SDT, RecordField
from sonde.providers.tracefs import EventFormats, FormatField
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.providers.rawtp import Tracepoints

_EXCLUDED = ("syscalls", "kprobes", "uprobes")
_OWN = ("dtrace", "dt_")
"""Groups that have a provider of their own, and beginnings of the groups that DTrace makes for its own probes."""

_LOCATIONS = {"__data_loc": "data", "__rel_loc": "relative"}
_INTEGERS = {
    (1, True): types.SCHAR, (1, False): types.UCHAR, (2, True): types.SHORT, (2, False): types.USHORT,
    (4, True): types.INT, (4, False): types.UINT, (8, True): types.LONG, (8, False): types.ULONG,
}  # fmt: skip


class SdtProvider:
    def __init__(self, events: EventFormats, tracepoints: Callable[[], Tracepoints], lookup: type_names.Lookup) -> None:
        """`tracepoints` is asked only where tracefs cannot be read, `lookup` only for the types of fields."""
        self._events = events
        self._tracepoints = tracepoints
        self._lookup = lookup

    def match(self, pattern: Pattern) -> Sequence[Probe]:
        if not matches(pattern.function, ""):
            return ()
        if not self._events.readable:
            return self._raw(pattern)
        known = self._tracepoints().has if plain(pattern.name) else self._tracepoints().names().__contains__
        return sorted(probe for group, name in self._pairs(pattern) if (probe := self._probe(group, name, known)))

    def by_id(self, identifier: int) -> Probe | None:
        return next((probe for probe in self.match(Pattern("sdt")) if probe.id == identifier), None)

    def arguments(self, probe: Probe) -> tuple[TypedArgument, ...] | None:
        if isinstance(probe.firing, RawTracepoint):
            return self._tracepoints().arguments(probe.firing.name)
        return tuple(TypedArgument(field.type, field.type, index) for index, field in enumerate(self.fields(probe)))

    def argument_names(self, probe: Probe) -> tuple[str, ...] | None:
        """Those of the record's fields."""
        firing = probe.firing
        if not isinstance(firing, Tracepoint):
            return None
        return tuple(field.name for field in self._events.format(firing.group, firing.name) or ())

    def fields(self, probe: Probe) -> tuple[RecordField, ...]:
        """The record's fields in the order of `args[]`; none for a probe that fires as a raw tracepoint."""
        firing = probe.firing
        if not isinstance(firing, Tracepoint):
            return ()
        return tuple(self._field(field) for field in self._events.format(firing.group, firing.name) or ())

    def _pairs(self, pattern: Pattern) -> Iterator[tuple[str, str]]:
        """The group and name of each event the pattern matches."""
        group, name = plain(pattern.module), plain(pattern.name)
        if name:
            if not is_word(name):
                return
            candidates = (group,) if group else filter(matcher(pattern.module), self._events.groups_of(name))
            yield from ((found, name) for found in candidates if _included(found))
            return
        in_group, named = matcher(pattern.module), matcher(pattern.name)
        for pair in self._events.all():
            if named(pair[1]) and in_group(pair[0]) and _included(pair[0]):
                yield pair

    def _probe(self, group: str, name: str, known: Callable[[str], bool]) -> Probe | None:
        number = self._events.number(group, name)
        if number is None:
            return None
        firing = Tracepoint(group, name, known(name))
        return Probe(SDT.first + number, "sdt", group, "", name, firing)

    def _raw(self, pattern: Pattern) -> Sequence[Probe]:
        return [
            Probe(SDT.first + index, "sdt", group, "", firing.name, firing)
            for index, group, firing in self._tracepoints().match(pattern)
        ]

    def _field(self, field: FormatField) -> RecordField:
        first, _, rest = field.type.partition(" ")
        location = _LOCATIONS.get(first, "")
        kind = type_names.parse(rest if location else field.type, self._lookup)
        if location:
            return RecordField(field.name, kind or Array(types.CHAR, None), field.offset, field.size, location)
        return RecordField(field.name, _sized(kind, field), field.offset, field.size)


def _included(group: str) -> bool:
    return group not in _EXCLUDED and not group.startswith(_OWN)


def _sized(kind: Type | None, field: FormatField) -> Type:
    """The type of a field in place: the one it is declared with if that has the field's size, else what fits."""
    base = resolve(kind) if kind else None
    if isinstance(base, Array):
        # Older kernels write the name of a constant between the brackets.
        size = size_of(base.of)
        return Array(base.of, field.size // size) if size and field.size else Array(base.of, None)
    if kind and size_of(kind) == field.size:
        if isinstance(base, Int) and base.signed != field.signed and base.size > 1:
            return _INTEGERS.get((field.size, field.signed), kind)
        return kind
    return _INTEGERS.get((field.size, field.signed)) or Array(types.UCHAR, field.size)
