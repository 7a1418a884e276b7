"""The `iter` provider: `iter:::NAME`, for each object of a kind that the kernel's iterators go over, once; as
`iter::PIN:NAME` for each whenever somebody reads the file /sys/fs/bpf/PIN."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model.catalog import TypedArgument
from sonde.model.probe import KernelIterator, Probe
from sonde.model.types import Function
from sonde.providers.pattern import Pattern, matcher, matches, plain
from sonde.providers.provider import ITER
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.providers.kernel_types import KernelTypes

_FUNCTION, _CONTEXT = "bpf_iter_", "bpf_iter__"
"""Before an iterator's name: the function whose arguments programs have, and the tag of the structure of these."""

_OF_MAPS = ("bpf_map_elem", "bpf_sk_storage_map", "sockmap")
"""Those that go over the elements of one map, which a description of a probe does not name."""


class IteratorProvider:
    """Keeps the probes of files made on request, so that each has one identifier."""

    def __init__(self, types: KernelTypes) -> None:
        self._types = types
        self._known: tuple[str, ...] | None = None
        self._pinned: list[Probe] = []

    def match(self, pattern: Pattern) -> Sequence[Probe]:
        if not matches(pattern.module, ""):
            return ()
        named, pin = matcher(pattern.name), plain(pattern.function)
        found = [(place, name) for place, name in enumerate(self.names()) if named(name)]
        if pin:
            # Any function's name would be that of a file: only who says `iter` means one.
            return [self._at(pin, name) for _, name in found] if pattern.provider == "iter" else ()
        if not matches(pattern.function, ""):
            return ()
        return [Probe(ITER.first + place, "iter", "", "", name, KernelIterator(name)) for place, name in found]

    def by_id(self, identifier: int) -> Probe | None:
        place = identifier - ITER.first
        names = self.names()
        if place < len(names):
            return Probe(identifier, "iter", "", "", names[place], KernelIterator(names[place]))
        return next((each for each in self._pinned if each.id == identifier), None)

    def arguments(self, probe: Probe) -> tuple[TypedArgument, ...] | None:
        signature = self.signature(probe)
        kinds = signature.parameters if signature else ()
        return tuple(TypedArgument(kind, kind, number) for number, kind in enumerate(kinds))

    def argument_names(self, probe: Probe) -> tuple[str, ...] | None:
        """As the kernel's source has them: `meta`, and what the object consists of."""
        found = self._types.function(f"{_FUNCTION}{probe.name}")
        return found[1] if found else None

    def signature(self, probe: Probe) -> Function | None:
        """What the kernel runs programs as."""
        found = self._types.function(f"{_FUNCTION}{probe.name}")
        return found[0] if found else None

    def absence(self, pattern: Pattern) -> str:
        """What there is, where a pattern matches nothing."""
        names = self.names()
        if plain(pattern.name) in _OF_MAPS:
            return f"{pattern.name} goes over the elements of one map: objects of other compilers may name it"
        if not names:
            return "this kernel's BTF has no iterators, which Linux has since 5.8"
        return f"this kernel's iterators are {', '.join(names)}"

    def names(self) -> tuple[str, ...]:
        """Those that there are and that need not be told of what."""
        if self._known is None:
            modules = self._types.modules()
            found = {name for module in modules for name in self._types.names(_CONTEXT, module)}
            found -= set(_OF_MAPS)
            self._known = tuple(sorted(name for name in found if self._types.function(f"{_FUNCTION}{name}")))
        return self._known

    def _at(self, pin: str, name: str) -> Probe:
        firing = KernelIterator(name, pin)
        found = next((each for each in self._pinned if each.firing == firing), None)
        if found is None:
            identifier = min(ITER.first + len(self.names()) + len(self._pinned), ITER.last)
            found = Probe(identifier, "iter", "", pin, name, firing)
            self._pinned.append(found)
        return found
