"""All probes of this machine: the Catalog that the checker asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sonde.lang.catalog import KernelSymbol, ProbeArgument
from sonde.lang.types import Type
from sonde.probe import Probe
from sonde.probes import provider as blocks
from sonde.probes.pattern import Pattern, matcher, plain
from sonde.probes.provider import Block, Provider
from sonde.target.target import Target

if TYPE_CHECKING:
    from sonde.probes.kernel_types import KernelTypes

_BLOCKS: dict[str, Block] = {
    "dtrace": blocks.DTRACE,
    "syscall": blocks.SYSCALL,
    "profile": blocks.PROFILE,
}
"""The providers, in the order of their identifiers."""


class Registry:
    """The providers' probes, and the kernel's types and data. Nothing is read, and no provider's code is imported,
    before a question needs it."""

    def __init__(
        self,
        target: Target,
        *,
        btf: str = "/sys/kernel/btf",
        tracefs: str = "/sys/kernel/tracing",
        kallsyms: str = "/proc/kallsyms",
    ) -> None:
        self._target = target
        self._btf = btf
        self._tracefs = tracefs
        self._kallsyms = kallsyms
        self._providers: dict[str, Provider] = {}
        self._types: KernelTypes | None = None

    @property
    def types(self) -> KernelTypes:
        """The kernel's types, for those who need more than the Catalog asks."""
        if self._types is None:
            from sonde.probes.kernel_types import KernelTypes

            self._types = KernelTypes(self._btf)
        return self._types

    def match(self, provider: str, module: str, function: str, name: str) -> Sequence[Probe]:
        """The probes whose four fields match the glob patterns ("" matches all), by identifier."""
        pattern = Pattern(provider, module, function, name)
        single = plain(provider)
        if single:
            return self._provider(single).match(pattern) if single in _BLOCKS else ()
        test = matcher(provider)
        return [probe for known in _BLOCKS if test(known) for probe in self._provider(known).match(pattern)]

    def by_id(self, identifier: int) -> Probe | None:
        """The probe with this identifier."""
        for name, block in _BLOCKS.items():
            if block.first <= identifier <= block.last:
                return self._provider(name).by_id(identifier)
        return None

    def arguments(self, probe: Probe) -> tuple[ProbeArgument, ...] | None:
        """The probe's `args[]`; None where its provider has no typed arguments."""
        return self._provider(probe.provider).arguments(probe)

    def type_named(self, name: str, module: str | None = None) -> Type | None:
        """A kernel typedef or base type."""
        return self.types.type_named(name, module)

    def tagged_type(self, keyword: str, name: str, module: str | None = None) -> Type | None:
        """A kernel `struct`, `union` or `enum` by its tag."""
        return self.types.tagged_type(keyword, name, module)

    def enumerator(self, name: str) -> tuple[Type, int] | None:
        """A kernel enumeration constant."""
        return self.types.enumerator(name)

    def symbol(self, name: str, module: str | None = None) -> KernelSymbol | None:
        """Kernel data by name."""
        return None

    def _provider(self, name: str) -> Provider:
        found = self._providers.get(name)
        if found is None:
            found = self._providers[name] = self._make(name)
        return found

    def _make(self, name: str) -> Provider:
        if name == "dtrace":
            from sonde.probes.dtrace import DtraceProvider

            return DtraceProvider()
        if name == "profile":
            from sonde.probes.profile import ProfileProvider

            return ProfileProvider()
        from sonde.probes.syscall import SyscallProvider

        return SyscallProvider(self._functions, self._lookup, self._tracefs)

    def _functions(self, prefix: str) -> list[str]:
        return self.types.names(prefix)

    def _lookup(self, keyword: str, name: str) -> Type | None:
        return self.types.lookup(keyword, name)
