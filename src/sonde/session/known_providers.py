"""The providers of probes, each made when a question first needs it: until then its code is not even imported."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module

from sonde.model.probe import Probe
from sonde.model.target import Target
from sonde.model.types import Type
from sonde.providers import provider as blocks
from sonde.providers.provider import IdentifierBlock, Offer, Provider
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.formats.packet_file import FiledDevice
    from sonde.providers.counted import CountedEvents
    from sonde.providers.derived.provider import DerivedProvider
    from sonde.providers.fbt import FunctionProvider
    from sonde.providers.functions import TraceableFunctions
    from sonde.providers.iterators import IteratorProvider
    from sonde.providers.kernel_places import KernelPlaces
    from sonde.providers.kernel_types import KernelTypes
    from sonde.providers.kernel_variables import KernelVariables
    from sonde.providers.rawtp import Tracepoints
    from sonde.providers.sdt import SdtProvider
    from sonde.providers.syscall import SyscallProvider
    from sonde.providers.tracefs import EventFormats
    from sonde.providers.usdt import StaticProbes
    from sonde.providers.user_functions import UserFunctions
    from sonde.providers.user_variables import UserVariables
    from sonde.symbols.code_objects import CodeObjects
    from sonde.symbols.kallsyms import Kallsyms
    from sonde.symbols.kernel_objects import KernelObjects

BLOCKS: dict[str, IdentifierBlock] = {
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
    "vminfo": blocks.VMINFO,
    "sysinfo": blocks.SYSINFO,
    "fsinfo": blocks.FSINFO,
    "cpc": blocks.CPC,
    "perf": blocks.PERF,
    "mib": blocks.MIB,
    "nfsv3": blocks.NFSV3,
    "nfsv4": blocks.NFSV4,
    "iter": blocks.ITER,
    "fbt": blocks.FBT,
    "rawfbt": blocks.RAWFBT,
    "packet": blocks.PACKET,
}
"""The providers, in the order of their identifiers."""

FUNCTIONS = ("fbt", "rawfbt")

COUNTED = ("cpc", "perf")
"""Those whose probes fire when a perf event has counted so far."""

DERIVED = (
    "proc", "sched", "io", "lockstat", "ip", "tcp", "udp", "vminfo", "sysinfo", "fsinfo", "mib", "nfsv3",
    "nfsv4",
)  # fmt: skip
"""Those whose probes follow from others: each has a module of its name in `providers/derived/`."""


Match = Callable[[str, str, str, str], Sequence[Probe]]
"""The probes that match four patterns: what derived ones follow from."""


class KnownProviders:
    """Parts and providers of one Registry, whose arguments these are."""

    def __init__(
        self,
        target: Target,
        btf: str,
        tracefs: str | None,
        kallsyms: str | None,
        offer: Offer | None,
        vmlinux: str,
        is_other: bool,
        devices: Sequence[FiledDevice] | None,
        formats: Mapping[tuple[str, str], str] | None,
        recorded: Sequence[Probe],
    ) -> None:
        self._target = target
        self._btf_path = btf
        self._tracefs_path = tracefs
        self._kallsyms_path = kallsyms
        self._offer = offer
        self._vmlinux, self._is_other = vmlinux, is_other
        self._devices = devices
        self._formats = formats
        self._recorded = recorded
        self._providers: dict[str, Provider] = {}
        self._derived_providers: dict[str, DerivedProvider] = {}
        self._function_providers: dict[str, FunctionProvider] = {}
        self._counted_providers: dict[str, CountedEvents] = {}
        self.process = 0
        """The process that is traced, 0 for none; it is set before a provider is asked."""

    def has(self, part: str) -> bool:
        """Whether somebody has asked for a part, so that it was made."""
        return part in self.__dict__

    @cached_property
    def types(self) -> KernelTypes:
        """The kernel's types, for those who need more than the Catalog asks."""
        from sonde.providers.kernel_types import KernelTypes

        return KernelTypes(self._btf_path, self._offer.types() if self._offer else None)

    @cached_property
    def _tracefs(self) -> str:
        from sonde.machine.tracefs import find_tracefs

        return self._tracefs_path or find_tracefs()

    @cached_property
    def events(self) -> EventFormats:
        if self._formats:
            from sonde.providers.filed_events import FiledTraceEvents

            return FiledTraceEvents(self._formats)
        from sonde.providers.tracefs import TraceEvents

        return TraceEvents(self._tracefs)

    @cached_property
    def system_calls(self) -> SyscallProvider:
        from sonde.providers.syscall import SyscallProvider

        has_call = self._offer.has_call if self._offer is not None else None
        return SyscallProvider(
            self._functions, self._lookup, self._tracefs, self._target.architecture, has_call=has_call
        )  # fmt: skip

    @cached_property
    def _tracepoints(self) -> Tracepoints:
        from sonde.providers.rawtp import Tracepoints

        return Tracepoints(self.types, self.events)

    @cached_property
    def kallsyms(self) -> Kallsyms | None:
        from sonde.symbols.kallsyms import Kallsyms

        return Kallsyms(self._kallsyms_path) if self._kallsyms_path is not None else None

    @cached_property
    def sdt(self) -> SdtProvider:
        from sonde.providers.sdt import SdtProvider

        return SdtProvider(self.events, lambda: self._tracepoints, self._lookup)

    @cached_property
    def code_objects(self) -> CodeObjects:
        from sonde.symbols.code_objects import CodeObjects

        objects = CodeObjects()
        objects.process = self.process
        return objects

    @cached_property
    def user_functions(self) -> UserFunctions:
        from sonde.providers.user_functions import UserFunctions

        return UserFunctions(self.code_objects, self._offer is not None and self._offer.looks_at_calls())

    @cached_property
    def kernel_objects(self) -> KernelObjects:
        from sonde.symbols.kernel_objects import KernelObjects

        return KernelObjects(self._vmlinux, self._is_other)

    @cached_property
    def kernel_places(self) -> KernelPlaces:
        from sonde.providers.kernel_places import KernelPlaces

        return KernelPlaces(self.kernel_objects, self._kallsyms_path or os.devnull)

    @cached_property
    def kernel_variables(self) -> KernelVariables:
        from sonde.providers.kernel_variables import KernelVariables

        return KernelVariables(self.kernel_places)

    @cached_property
    def static_probes(self) -> StaticProbes:
        from sonde.providers.usdt import StaticProbes

        return StaticProbes(self.code_objects)

    @cached_property
    def user_variables(self) -> UserVariables:
        from sonde.providers.user_variables import UserVariables

        return UserVariables(self.code_objects)

    def provider(self, name: str, match: Match) -> Provider:
        found = self._providers.get(name)
        if found is None:
            found = self._providers[name] = self._make(name, match)
        return found

    def _make(self, name: str, match: Match) -> Provider:
        if name == "dtrace":
            from sonde.providers.dtrace import DtraceProvider

            return DtraceProvider()
        if name == "profile":
            from sonde.providers.profile import ProfileProvider

            return ProfileProvider(self._recorded)
        if name == "syscall":
            return self.system_calls
        if name == "rawtp":
            from sonde.providers.rawtp import RawtpProvider

            return RawtpProvider(self._tracepoints)
        if name == "packet":
            from sonde.providers.packet import PacketProvider, RecordedPacketProvider

            return RecordedPacketProvider(self._recorded) if self._recorded else PacketProvider(self._devices)
        if name == "iter":
            return self.iterators
        if name in FUNCTIONS:
            return self.function_provider(name)
        if name in COUNTED:
            return self.counted(name)
        return self.derived(name, match) if name in DERIVED else self.sdt

    @cached_property
    def iterators(self) -> IteratorProvider:
        from sonde.providers.iterators import IteratorProvider

        return IteratorProvider(self.types)

    @cached_property
    def _functions_of_kernel(self) -> TraceableFunctions:
        from sonde.providers.functions import TraceableFunctions

        return TraceableFunctions(self._tracefs)

    def function_provider(self, name: str) -> FunctionProvider:
        found = self._function_providers.get(name)
        if found is None:
            from sonde.providers.fbt import FunctionProvider

            found = self._function_providers[name] = FunctionProvider(
                name, self._functions_of_kernel, self.types, self._kallsyms_path or os.devnull
            )
        return found

    def counted(self, name: str) -> CountedEvents:
        found = self._counted_providers.get(name)
        if found is None:
            from sonde.providers.counted import CountedEvents
            from sonde.providers.cpc import CounterNames
            from sonde.providers.perf_sources import SourceNames

            spelling = CounterNames() if name == "cpc" else SourceNames()
            found = self._counted_providers[name] = CountedEvents(name, BLOCKS[name], spelling, self._recorded)
        return found

    def derived(self, name: str, match: Match) -> DerivedProvider:
        found = self._derived_providers.get(name)
        if found is None:
            from sonde.providers.derived.provider import DerivedProvider

            tables = import_module(f"sonde.providers.derived.{name}")
            absent = getattr(tables, "ABSENT", {})
            found = self._derived_providers[name] = DerivedProvider(
                name, BLOCKS[name], tables.DEFINITIONS, self.types, match, absent
            )
        return found

    def _functions(self, prefix: str) -> list[str]:
        return self.types.names(prefix)

    def _lookup(self, keyword: str, name: str) -> Type | None:
        return self.types.lookup(keyword, name)
