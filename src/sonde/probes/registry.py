"""All probes of this machine: the Catalog that the checker asks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module

from sonde.lang.catalog import Derivation, KernelSymbol, ProbeArgument
from sonde.lang.types import Type
from sonde.probe import Probe, Uprobe
from sonde.probes import provider as blocks
from sonde.probes.offer import Offer
from sonde.probes.pattern import Pattern, is_word, matcher, matches, plain
from sonde.probes.provider import Block, Provider, RecordField
from sonde.target.target import Target
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.probes.derived.provider import DerivedProvider
    from sonde.probes.kernel_types import KernelTypes
    from sonde.probes.rawtp import Tracepoints
    from sonde.probes.sdt import SdtProvider
    from sonde.probes.tracefs import TraceEvents
    from sonde.probes.user_functions import UserFunctions
    from sonde.spec import TracingSpec
    from sonde.symbols.kallsyms import Kallsyms

_BLOCKS: dict[str, Block] = {
    "dtrace": blocks.DTRACE,
    "syscall": blocks.SYSCALL,
    "profile": blocks.PROFILE,
    "rawtp": blocks.RAWTP,
    "sdt": blocks.SDT,
    "proc": blocks.PROC,
    "sched": blocks.SCHED,
    "io": blocks.IO,
    "lockstat": blocks.LOCKSTAT,
    "ip": blocks.IP,
    "tcp": blocks.TCP,
    "udp": blocks.UDP,
}
"""The providers, in the order of their identifiers."""

_DERIVED = ("proc", "sched", "io", "lockstat", "ip", "tcp", "udp")
"""Those whose probes follow from others: each has a module of its name in `probes/derived/`."""

_NEVER_EVENTS = ("BEGIN", "END", "ERROR", "entry", "return")


class Registry:
    """The providers' probes, and the kernel's types and data. Nothing is read, and no provider's code is imported,
    before a question needs it."""

    def __init__(
        self,
        target: Target,
        *,
        btf: str = "/sys/kernel/btf",
        tracefs: str | None = None,
        kallsyms: str | None = "/proc/kallsyms",
        offer: Offer | None = None,
    ) -> None:
        """`btf` is the directory of the BTF files or the kernel's file alone, `tracefs` where tracefs is mounted (None:
        found, or mounted, when it is needed), `kallsyms` the symbol list (None: kernel data is what BTF has), `offer`
        what an engine has that takes the kernel's place."""
        self.target = target
        self._btf_path = btf
        self._tracefs_path = tracefs
        self._kallsyms_path = kallsyms
        self._offer = offer
        self._providers: dict[str, Provider] = {}
        self._derived_providers: dict[str, DerivedProvider] = {}

    def match(self, provider: str, module: str, function: str, name: str) -> Sequence[Probe]:
        """The probes whose four fields match the glob patterns ("" matches all), by identifier."""
        pattern = Pattern(provider, module, function, name)
        process = self._process(provider)
        if process:
            return self._of_process(pattern._replace(provider=process))
        single = plain(provider)
        if single:
            return self._matching(single, pattern) if single in _BLOCKS else ()
        test = matcher(provider)
        known = [each for each in _BLOCKS if test(each) and _may_have(each, name)]
        return [probe for each in known for probe in self._matching(each, pattern)]

    def _matching(self, provider: str, pattern: Pattern) -> Sequence[Probe]:
        """The provider's probes that match and can fire."""
        if self._offer is None:
            return self._provider(provider).match(pattern)
        if not self._offer.has_provider(provider):
            return ()
        return [probe for probe in self._provider(provider).match(pattern) if self._offer.fires(probe)]

    def _of_process(self, pattern: Pattern) -> Sequence[Probe]:
        if self._offer is None:
            return self._user_functions.match(pattern)
        from sonde.probes.pid import check

        check(pattern)
        return ()

    def offers(self, what: str, name: str) -> bool:
        """Whether there is a `provider` of that name, or a kernel `module`, loaded or built in."""
        if what == "provider":
            return name in _BLOCKS
        return name == "vmlinux" or (name.isidentifier() and os.path.isdir(f"/sys/module/{name}"))

    def absence(self, provider: str) -> str:
        """Why a description with this provider can match no probe, "" where it could."""
        if self._offer is not None and self._process(provider):
            from sonde.probes.pid import UNAVAILABLE

            return UNAVAILABLE
        return ""

    def lacks(self, what: str, name: str) -> tuple[str, str]:
        """That a program may not use something that D has, and what would help; "" where it may."""
        return self._offer.lacks(what, name) if self._offer else ("", "")

    def mismatch(self, provider: str, module: str, function: str, name: str) -> str:
        """Which field of a description that matches no probe is the one that none has, for people."""
        why = self._offer.absence(provider) if self._offer else ""
        if why:
            return why
        process = self._process(provider)
        if process:
            return self._user_functions.mismatch(Pattern(process, module, function, name))
        from sonde.probes.mismatch import explained

        return explained(Pattern(provider, module, function, name), tuple(_BLOCKS), self.match)

    def _process(self, provider: str) -> str:
        """The provider of one process that is meant, by its name or, before the number, a glob; "" if none is."""
        head = provider.rstrip("0123456789")
        number = provider[len(head) :]
        return f"pid{number}" if number and head and matches(head, "pid") else ""

    def by_id(self, identifier: int) -> Probe | None:
        """The probe with this identifier."""
        for name, block in _BLOCKS.items():
            if block.first <= identifier <= block.last:
                return self._offered(self._provider(name).by_id(identifier))
        return self._user_functions.by_id(identifier) if identifier >= blocks.PID.first else None

    def _offered(self, probe: Probe | None) -> Probe | None:
        if probe is None or self._offer is None:
            return probe
        return probe if self._offer.has_provider(probe.provider) and self._offer.fires(probe) else None

    def arguments(self, probe: Probe) -> tuple[ProbeArgument, ...] | None:
        """The probe's `args[]`; None where its provider has no typed arguments."""
        if isinstance(probe.firing, Uprobe):
            return None
        return self._provider(probe.provider).arguments(probe)

    def derivations(self, probe: Probe) -> tuple[Derivation, ...]:
        """How the probe follows from others; () for a probe that has its firing to itself."""
        return self._derived(probe.provider).derivations(probe) if probe.provider in _DERIVED else ()

    def fields(self, probe: Probe) -> tuple[RecordField, ...]:
        """Where a trace event's record has each of the probe's `args[]`; () unless its firing is a Tracepoint."""
        return self._sdt.fields(probe)

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
        """Kernel data, or a function, by name; its type where BTF has it."""
        if self._kallsyms_path is None:
            type_ = self._symbol_type(name, module)
            return KernelSymbol(name, module or "vmlinux", 0, type_) if type_ else None
        found = self._kallsyms.find(name, module)
        if found is None:
            return None
        return KernelSymbol(name, found.module, found.address, self._symbol_type(name, found.module))

    def _symbol_type(self, name: str, module: str | None) -> Type | None:
        found = self.types.variable(name, module)
        function = None if found else self.types.function(name, module)
        return function[0] if function else found

    def facts(self, spec: TracingSpec) -> list[tuple[str, str, str]]:
        """(kind, name, value) of all that compiling `spec` has asked the kernel for."""
        from sonde.probes.facts import gather

        return gather(self.types, self._events, spec)

    def fact(self, kind: str, name: str) -> str:
        """The value of one of the facts on this kernel, "" if there is no such thing."""
        from sonde.probes.facts import value_of

        return value_of(kind, name, self.types, self._events)

    @cached_property
    def types(self) -> KernelTypes:
        """The kernel's types, for those who need more than the Catalog asks."""
        from sonde.probes.kernel_types import KernelTypes

        return KernelTypes(self._btf_path, self._offer.types() if self._offer else None)

    @cached_property
    def _tracefs(self) -> str:
        from sonde.target.tracefs import find_tracefs

        return self._tracefs_path or find_tracefs()

    @cached_property
    def _events(self) -> TraceEvents:
        from sonde.probes.tracefs import TraceEvents

        return TraceEvents(self._tracefs)

    @cached_property
    def _tracepoints(self) -> Tracepoints:
        from sonde.probes.rawtp import Tracepoints

        return Tracepoints(self.types, self._events)

    @cached_property
    def _kallsyms(self) -> Kallsyms:
        from sonde.symbols.kallsyms import Kallsyms

        assert self._kallsyms_path is not None
        return Kallsyms(self._kallsyms_path)

    @cached_property
    def _sdt(self) -> SdtProvider:
        from sonde.probes.sdt import SdtProvider

        return SdtProvider(self._events, lambda: self._tracepoints, self._lookup)

    @cached_property
    def _user_functions(self) -> UserFunctions:
        from sonde.probes.user_functions import UserFunctions

        return UserFunctions()

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
        if name == "syscall":
            from sonde.probes.syscall import SyscallProvider

            return SyscallProvider(self._functions, self._lookup, self._tracefs, self.target.architecture)
        if name == "rawtp":
            from sonde.probes.rawtp import RawtpProvider

            return RawtpProvider(self._tracepoints)
        return self._derived(name) if name in _DERIVED else self._sdt

    def _derived(self, name: str) -> DerivedProvider:
        found = self._derived_providers.get(name)
        if found is None:
            from sonde.probes.derived.provider import DerivedProvider

            definitions = import_module(f"sonde.probes.derived.{name}").DEFINITIONS
            found = self._derived_providers[name] = DerivedProvider(name, _BLOCKS[name], definitions, self.types)
        return found

    def _functions(self, prefix: str) -> list[str]:
        return self.types.names(prefix)

    def _lookup(self, keyword: str, name: str) -> Type | None:
        return self.types.lookup(keyword, name)


def _may_have(provider: str, name: str) -> bool:
    """Whether a provider may have probes of a name, without asking it: keeps the commonest descriptions without a
    provider, `BEGIN` and `tick-1s`, from loading everything."""
    exact = plain(name)
    if not exact:
        return True
    if provider == "dtrace":
        return exact in _NEVER_EVENTS[:3]
    if provider == "syscall":
        return exact in _NEVER_EVENTS[3:]
    if provider == "profile":
        return exact.startswith(("profile-", "tick-"))
    if provider in _DERIVED:
        return exact not in _NEVER_EVENTS and not exact.startswith(("profile-", "tick-"))
    return is_word(exact) and exact not in _NEVER_EVENTS
