"""The providers of probes, each made when a question first needs it: until then its code is not even imported."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module

from sonde.machine import tracefs as machine_tracefs
from sonde.model.probe import Probe
from sonde.model.target import Target
from sonde.model.types import Type
from sonde.providers import counted as providers_counted
from sonde.providers import (
    cpc,
    dtrace,
    fbt,
    filed_events,
    functions,
    kernel_types,
    packet,
    perf_sources,
    profile,
    rawtp,
    syscall,
    usdt,
)
from sonde.providers import iterators as providers_iterators
from sonde.providers import kernel_places as providers_kernel_places
from sonde.providers import kernel_variables as providers_kernel_variables
from sonde.providers import provider as blocks
from sonde.providers import sdt as providers_sdt
from sonde.providers import tracefs as providers_tracefs
from sonde.providers import user_functions as providers_user_functions
from sonde.providers import user_variables as providers_user_variables
from sonde.providers.derived import provider as derived_provider
from sonde.providers.provider import IdentifierBlock, Offer, Provider
from sonde.symbols import code_objects as symbols_code_objects
from sonde.symbols import kallsyms as symbols_kallsyms
from sonde.symbols import kernel_objects as symbols_kernel_objects
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.formats.packet_file import FiledDevice
    from sonde.providers.counted import CountedEvents
    from sonde.providers.derived.provider import DerivedProvider
    from sonde.providers.fbt import FunctionProvider
    from sonde.providers.tracefs import EventFormats

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
    def types(self) -> kernel_types.KernelTypes:
        """The kernel's types, for those who need more than the Catalog asks."""
        return kernel_types.KernelTypes(self._btf_path, self._offer.types() if self._offer else None)

    @cached_property
    def _tracefs(self) -> str:
        return self._tracefs_path or machine_tracefs.find_tracefs()

    @cached_property
    def events(self) -> EventFormats:
        if self._formats:
            return filed_events.FiledTraceEvents(self._formats)

        return providers_tracefs.TraceEvents(self._tracefs)

    @cached_property
    def system_calls(self) -> syscall.SyscallProvider:
        has_call = self._offer.has_call if self._offer is not None else None
        return syscall.SyscallProvider(
            self._functions, self._lookup, self._tracefs, self._target.architecture, has_call=has_call
        )  # fmt: skip

    @cached_property
    def _tracepoints(self) -> rawtp.Tracepoints:
        return rawtp.Tracepoints(self.types, self.events)

    @cached_property
    def kallsyms(self) -> symbols_kallsyms.Kallsyms | None:
        return symbols_kallsyms.Kallsyms(self._kallsyms_path) if self._kallsyms_path is not None else None

    @cached_property
    def sdt(self) -> providers_sdt.SdtProvider:
        return providers_sdt.SdtProvider(self.events, lambda: self._tracepoints, self._lookup)

    @cached_property
    def code_objects(self) -> symbols_code_objects.CodeObjects:
        objects = symbols_code_objects.CodeObjects()
        objects.process = self.process
        return objects

    @cached_property
    def user_functions(self) -> providers_user_functions.UserFunctions:
        return providers_user_functions.UserFunctions(
            self.code_objects, self._offer is not None and self._offer.looks_at_calls()
        )

    @cached_property
    def kernel_objects(self) -> symbols_kernel_objects.KernelObjects:
        return symbols_kernel_objects.KernelObjects(self._vmlinux, self._is_other)

    @cached_property
    def kernel_places(self) -> providers_kernel_places.KernelPlaces:
        return providers_kernel_places.KernelPlaces(self.kernel_objects, self._kallsyms_path or os.devnull)

    @cached_property
    def kernel_variables(self) -> providers_kernel_variables.KernelVariables:
        return providers_kernel_variables.KernelVariables(self.kernel_places)

    @cached_property
    def static_probes(self) -> usdt.StaticProbes:
        return usdt.StaticProbes(self.code_objects)

    @cached_property
    def user_variables(self) -> providers_user_variables.UserVariables:
        return providers_user_variables.UserVariables(self.code_objects)

    def provider(self, name: str, match: Match) -> Provider:
        found = self._providers.get(name)
        if found is None:
            found = self._providers[name] = self._make(name, match)
        return found

    def _make(self, name: str, match: Match) -> Provider:
        if name == "dtrace":
            return dtrace.DtraceProvider()
        if name == "profile":
            return profile.ProfileProvider(self._recorded)
        if name == "syscall":
            return self.system_calls
        if name == "rawtp":
            return rawtp.RawtpProvider(self._tracepoints)
        if name == "packet":
            return (
                packet.RecordedPacketProvider(self._recorded)
                if self._recorded
                else packet.PacketProvider(self._devices)
            )
        if name == "iter":
            return self.iterators
        if name in FUNCTIONS:
            return self.function_provider(name)
        if name in COUNTED:
            return self.counted(name)
        return self.derived(name, match) if name in DERIVED else self.sdt

    @cached_property
    def iterators(self) -> providers_iterators.IteratorProvider:
        return providers_iterators.IteratorProvider(self.types)

    @cached_property
    def _functions_of_kernel(self) -> functions.TraceableFunctions:
        return functions.TraceableFunctions(self._tracefs)

    def function_provider(self, name: str) -> fbt.FunctionProvider:
        found = self._function_providers.get(name)
        if found is None:
            found = self._function_providers[name] = fbt.FunctionProvider(
                name, self._functions_of_kernel, self.types, self._kallsyms_path or os.devnull
            )
        return found

    def counted(self, name: str) -> providers_counted.CountedEvents:
        found = self._counted_providers.get(name)
        if found is None:
            spelling = cpc.CounterNames() if name == "cpc" else perf_sources.SourceNames()
            found = self._counted_providers[name] = providers_counted.CountedEvents(
                name, BLOCKS[name], spelling, self._recorded
            )
        return found

    def derived(self, name: str, match: Match) -> derived_provider.DerivedProvider:
        found = self._derived_providers.get(name)
        if found is None:
            tables = import_module(f"sonde.providers.derived.{name}")
            absent = getattr(tables, "ABSENT", {})
            found = self._derived_providers[name] = derived_provider.DerivedProvider(
                name, BLOCKS[name], tables.DEFINITIONS, self.types, match, absent
            )
        return found

    def _functions(self, prefix: str) -> list[str]:
        return self.types.names(prefix)

    def _lookup(self, keyword: str, name: str) -> Type | None:
        return self.types.lookup(keyword, name)
