"""The `rawtp` provider: `rawtp:GROUP::EVENT`, the kernel's tracepoints with the arguments the kernel passes them.

BTF says which there are and how their arguments are typed, tracefs, where it can be read, only which group each is in.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from sonde.model import types
from sonde.model.catalog import TypedArgument
from sonde.model.probe import Probe, RawTracepoint
from sonde.providers.pattern import Pattern, is_word, matcher, matches, plain
from sonde.providers.provider import RAWTP
from sonde.providers.tracefs import EventFormats
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.providers.kernel_types import KernelTypes

_PREFIX = "btf_trace_"
_UNTYPED = 12
"""Arguments to offer where BTF does not tell how many there are: the most a tracepoint can have
(MAX_BPF_FUNC_ARGS, include/linux/bpf.h)."""


class Tracepoints:
    """All tracepoints: the kernel's by name, then those of each module by name. The place in this order is what
    identifiers are made from."""

    def __init__(self, kernel: KernelTypes, events: EventFormats) -> None:
        self._kernel = kernel
        self._events = events
        self._order: dict[str, int] | None = None
        self._groups: dict[str, str] | None = None

    def match(self, pattern: Pattern) -> Iterator[tuple[int, str, RawTracepoint]]:
        """The place, group and firing of the tracepoints whose module (a group) and name match.

        The group is "" where it is not known; then a plain group is taken on trust with a plain name.
        """
        name = plain(pattern.name)
        if name:
            index = self._places().get(name) if is_word(name) else None
            if index is not None:
                yield from self._named(index, name, pattern.module)
            return
        in_group, named = matcher(pattern.module), matcher(pattern.name)
        groups = self._groups_by_name()
        counts = self._kernel.tracepoint_arguments()
        for found, index in self._places().items():
            group = groups.get(found, "")
            if named(found) and in_group(group):
                yield index, group, RawTracepoint(found, counts.get(found, -1))

    def has(self, name: str) -> bool:
        """Whether BTF knows a tracepoint of this name."""
        return self._kernel.tracepoint(name) is not None

    def names(self) -> Container[str]:
        """All that `has` knows: quicker for many."""
        return frozenset(self._typed_names())

    def arguments(self, name: str) -> tuple[TypedArgument, ...]:
        """The tracepoint's `args[]`, as BTF types them; unsigned 64-bit numbers where it does not."""
        kinds = self._kernel.tracepoint(name)
        if kinds is None:
            kinds = (types.BUILTIN_TYPEDEFS["uint64_t"],) * _UNTYPED
        return tuple(TypedArgument(kind, kind, index) for index, kind in enumerate(kinds))

    def _named(self, index: int, name: str, group_pattern: str) -> Iterator[tuple[int, str, RawTracepoint]]:
        groups = self._events.groups_of(name)
        group = groups[0] if groups else ""
        if not self._events.readable:
            group = plain(group_pattern) or ""
        if matches(group_pattern, group):
            kinds = self._kernel.tracepoint(name)
            yield index, group, RawTracepoint(name, -1 if kinds is None else len(kinds))

    def _places(self) -> dict[str, int]:
        if self._order is None:
            names = self._typed_names()
            if not names:
                names = sorted(name for group, name in self._events.all() if group != "syscalls")
            self._order = {name: index for index, name in enumerate(dict.fromkeys(names))}
        return self._order

    def _typed_names(self) -> list[str]:
        """Those that BTF has: the kernel's by name, then each module's."""
        return [name for module in self._kernel.modules() for name in sorted(self._kernel.names(_PREFIX, module))]

    def _groups_by_name(self) -> dict[str, str]:
        if self._groups is None:
            self._groups = {name: group for group, name in self._events.all()}
        return self._groups


class RawtpProvider:
    def __init__(self, tracepoints: Tracepoints) -> None:
        self._tracepoints = tracepoints

    def match(self, pattern: Pattern) -> Sequence[Probe]:
        if not matches(pattern.function, ""):
            return ()
        return [
            Probe(RAWTP.first + index, "rawtp", group, "", firing.name, firing)
            for index, group, firing in self._tracepoints.match(pattern)
        ]

    def by_id(self, identifier: int) -> Probe | None:
        return next((probe for probe in self.match(Pattern("rawtp")) if probe.id == identifier), None)

    def arguments(self, probe: Probe) -> tuple[TypedArgument, ...] | None:
        return self._tracepoints.arguments(probe.name)
