"""All probes of this machine: the Catalog that the checker asks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from sonde.arch import system_calls
from sonde.model import catalog
from sonde.model.errors import BAD_OBJECT, SourceError
from sonde.model.probe import (
    KernelFunction,
    KernelIterator,
    Probe,
    RawTracepoint,
    StaticPattern,
    StaticProbe,
    Syscall,
    Uprobe,
)
from sonde.model.target import Target
from sonde.model.types import Function, Type
from sonde.providers import facts as providers_facts
from sonde.providers import kernel_places, unavailable
from sonde.providers import mismatch as providers_mismatch
from sonde.providers import pid as providers_pid
from sonde.providers import provider as blocks
from sonde.providers.pattern import Pattern, is_word, matcher, matches, plain
from sonde.providers.provider import FILES, STATIC, Offer, RecordField
from sonde.session.known_providers import BLOCKS, COUNTED, DERIVED, FUNCTIONS, KnownProviders
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.formats.packet_file import FiledDevice
    from sonde.model.catalog import Derivation, Located, TypedArgument
    from sonde.model.spec import TracingSpec
    from sonde.providers.kernel_types import KernelTypes
    from sonde.providers.user_functions import Site

_DIGITS = 11
"""More than a process's number has."""

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
        vmlinux: str = "",
        is_other: bool = False,
        devices: Sequence[FiledDevice] | None = None,
        formats: Mapping[tuple[str, str], str] | None = None,
        recorded: Sequence[Probe] = (),
    ) -> None:
        """`btf` is the directory of the BTF files or the kernel's file alone, `tracefs` where tracefs is mounted (None:
        found, or mounted, when it is needed), `kallsyms` the symbol list (None: kernel data is what BTF has), `offer`
        what an engine has that takes the kernel's place, `vmlinux` the file with the kernel's debug information ("":
        found when it is needed), `is_other` whether that is another kernel than the one that runs, `devices` those of a
        file of packets that the engine is given, `formats` the texts of trace events' format files, by group and name,
        where they are not tracefs's, `recorded` the probes of a recording, if that is what fires."""
        self.target = target
        self._offer = offer
        self._known = KnownProviders(
            target, btf, tracefs, kallsyms, offer, vmlinux, is_other, devices, formats, recorded
        )
        self.prepare: Callable[[int], None] = lambda pid: None
        """Called before anything looks into a process."""

    def trace(self, process: int, prepare: Callable[[int], None]) -> None:
        """Paths of files are those of a process that is traced; `prepare` is called before anything looks into one."""
        self.prepare = prepare
        self._known.process = process

    def match(self, provider: str, module: str, function: str, name: str) -> Sequence[Probe]:
        """The probes whose four fields match the glob patterns ("" matches all), by identifier."""
        pattern = Pattern(provider, module, function, name)
        head, pid = _of_process(provider)
        of_processes = bool(pid) or provider in (FILES, STATIC)
        if of_processes or (provider and not plain(provider) and not any(map(matcher(provider), BLOCKS))):
            recorded = self._offer.recorded(*pattern) if self._offer is not None else None
            if recorded is not None:
                return recorded
        if provider == FILES:
            return self._known.user_functions.match(pattern)
        if provider == STATIC:
            return self._known.static_probes.match("", STATIC, pattern)
        if pid:
            return self._in_process(head, pid, pattern)
        single = plain(provider)
        if single:
            return self._matching(single, pattern) if single in BLOCKS else ()
        test = matcher(provider)
        known = [each for each in BLOCKS if test(each) and _may_have(each, name)]
        found = [probe for each in known for probe in self._matching(each, pattern)]
        if self._has_static(pattern, found):
            found += self._known.static_probes.everywhere(pattern)
        return found

    def listed(self, provider: str, module: str, function: str, name: str) -> Sequence[Probe]:
        """As `match`, with the probes of processes that a recording has where the provider is left open: a program
        means those alone whose provider it names."""
        found = self.match(provider, module, function, name)
        recorded = self._offer.recorded(provider, module, function, name) if self._offer is not None else None
        known = {each.id for each in found}
        return [*found, *(each for each in recorded or () if each.id not in known)]

    def _has_static(self, pattern: Pattern, others: Sequence[Probe]) -> bool:
        """Whether static probes of all processes are meant: by a glob, or with no provider where a probe of another
        name than the kernel's is described."""
        if self._offer is not None:
            return False
        return bool(pattern.provider) or (not others and any(pattern))

    def awaited(self, provider: str, module: str, function: str, name: str) -> Probe | None:
        """What stands for the static probes of all processes, those to come included, that a description matches, or of
        the process that it names."""
        pattern = Pattern(provider, module, function, name)
        head, process = _of_process(provider)
        if process and head not in ("pid", STATIC):
            return self._known.static_probes.awaited(pattern._replace(provider=head), process)
        if process or plain(provider) or not self._has_static(pattern, ()):
            return None
        return self._known.static_probes.awaited(pattern)

    def count(self, probe: Probe) -> int:
        """How many probes there are by now that one stands for."""
        return self._known.static_probes.count(probe) if isinstance(probe.firing, StaticPattern) else 1

    def is_awaited(self, probe: Probe, provider: str, module: str, function: str, name: str) -> bool:
        """Whether `awaited` stands for a probe that `match` gives."""
        return self._known.static_probes.is_awaited(probe, Pattern(provider, module, function, name))

    def _matching(self, provider: str, pattern: Pattern) -> Sequence[Probe]:
        """The provider's probes that match and can fire."""
        if self._offer is None:
            if provider in FUNCTIONS and self._is_place(pattern):
                return self._known.kernel_places.match(pattern)
            return self._known.provider(provider, self.match).match(pattern)
        if not self._offer.has_provider(provider):
            return ()
        return [
            probe for probe in self._known.provider(provider, self.match).match(pattern) if self._offer.fires(probe)
        ]

    def _is_place(self, pattern: Pattern) -> bool:
        """Whether a place within a function of the kernel is described; most descriptions have a name that tells."""
        if "@" not in pattern.function and (pattern.name in _NEVER_EVENTS or not plain(pattern.name)):
            return False

        return kernel_places.is_place(pattern)

    def _in_process(self, head: str, pid: str, pattern: Pattern) -> Sequence[Probe]:
        """The probes in a process's functions, those whose provider is `pid`, and its static ones."""
        found: list[Probe] = []
        self._get_ready(pid)
        if matches(head, "pid"):
            functions = pattern._replace(provider=f"pid{pid}")
            found += self._known.user_functions.match(functions)
        if plain(head) != "pid":
            found += self._known.static_probes.match(pid, head, pattern)
        return found

    def _get_ready(self, pid: str) -> None:
        number = int(pid) if len(pid) < _DIGITS else 0
        if number:
            self.prepare(number)

    def remarks(self) -> list[str]:
        """What to tell who asked for the probes that have been matched."""
        return list(self._known.user_functions.remarks) if self._known.has("user_functions") else []

    def files(self, path: str) -> Sequence[str]:
        """The files at a path, which may have wildcards, as the process that is traced has them, or this one."""
        return self._known.code_objects.paths(path)

    def offers(self, what: str, name: str) -> bool:
        """Whether there is a `provider` of that name, a kernel `module`, loaded or built in, or a `helper`."""
        if what == "helper":
            return self._offer is not None and self._offer.has_helper(name)
        if what == "provider":
            return name in BLOCKS or name in (FILES, STATIC)
        return name == "vmlinux" or (name.isidentifier() and os.path.isdir(f"/sys/module/{name}"))

    def absence(self, provider: str) -> str:
        """Why a description with this provider can match no probe, "" where it could."""
        is_other = provider and not any(map(matcher(provider), BLOCKS)) and not plain(provider)
        if self._offer is not None and is_other:
            return providers_pid.UNAVAILABLE
        return ""

    def unawaited(self, provider: str) -> str:
        """Why static probes that may come are not waited for, "" where they are or where none can come."""
        return self.absence(provider)

    def lacks(self, what: str, name: str) -> tuple[str, str]:
        """That a program may not use something that D has, and what would help; "" where it may."""
        return self._offer.lacks(what, name) if self._offer else ("", "")

    def mismatch(self, provider: str, module: str, function: str, name: str) -> str:
        """Which field of a description that matches no probe is the one that none has, for people."""
        in_programs = provider in (FILES, STATIC) or bool(_of_process(provider)[1])
        why = self._offer.absence(provider, in_programs) if self._offer else ""
        if why:
            return why
        if provider == FILES:
            return self._known.user_functions.mismatch(Pattern(provider, module, function, name))
        if module == FILES and not provider:
            return f"a probe in a file has four fields: {FILES}:{function}:{name}:entry"
        head, pid = _of_process(provider)
        if pid and plain(head) == "pid":
            return self._known.user_functions.mismatch(Pattern(f"pid{pid}", module, function, name))
        if pid or provider == STATIC:
            return self._known.static_probes.mismatch(pid, head, Pattern(provider, module, function, name))
        if provider and not plain(provider) and not any(map(matcher(provider), BLOCKS)):
            return self._known.static_probes.nobody_has(Pattern(provider, module, function, name))
        if provider == "iter" and self._offer is None:
            return self._known.iterators.absence(Pattern(provider, module, function, name))
        if provider in FUNCTIONS:
            why = self._known.function_provider(provider).absence(Pattern(provider, module, function, name))
            if why:
                return why
        timer = "profile" if not provider and name.startswith("profile-") else provider
        if self._offer and timer in BLOCKS:
            why = self._refused(timer, Pattern(timer, module, function, name))
            if why:
                return why
        if provider in COUNTED:
            why = self._known.counted(provider).absence(Pattern(provider, module, function, name))
            if why:
                return why
        if self._offer and self._is_withheld(provider, module, name):
            return self._offer.part(provider, (probe.name for probe in self.match(provider, "", "", "")))
        if provider in DERIVED:
            derived = self._known.derived(provider, self.match)
            why = derived.absence(name)
            if why and not (derived.is_unknown(name) and self.alike(provider, module, function, name)):
                return why

        return providers_mismatch.explained(Pattern(provider, module, function, name), tuple(BLOCKS), self.match)

    def _is_withheld(self, provider: str, module: str, name: str) -> bool:
        """Whether the kernel may well have the probes that a description means, and the engine has them not."""
        if self._offer is None:
            return False
        if provider == "syscall":
            return module == system_calls.COMPAT_MODULE
        if provider == "rawtp":
            return True
        return provider in DERIVED and self._known.derived(provider, self.match).defines(name)

    def alike(self, provider: str, module: str, function: str, name: str) -> tuple[str, ...]:
        """Descriptions that one which matches no probe may have meant, the likeliest first."""
        if provider in (FILES, STATIC) or _of_process(provider)[1] or self._is_withheld(provider, module, name):
            return ()

        return providers_mismatch.alike(Pattern(provider, module, function, name), tuple(BLOCKS), self.match)

    def _refused(self, provider: str, pattern: Pattern) -> str:
        """Why the engine fires none of the probes that a pattern matches."""
        found = self._known.provider(provider, self.match).match(pattern) if self._offer else ()
        return self._offer.refused(found[0]) if self._offer and found else ""

    def by_id(self, identifier: int) -> Probe | None:
        """The probe with this identifier."""
        recorded = self._offer.recorded_by_id(identifier) if self._offer is not None else None
        if recorded is not None:
            return recorded
        for name, block in BLOCKS.items():
            if block.first <= identifier <= block.last:
                return self._offered(self._known.provider(name, self.match).by_id(identifier))
        if blocks.USDT.first <= identifier <= blocks.USDT.last:
            return self._known.static_probes.by_id(identifier)
        if identifier >= blocks.KERNEL_PLACES.first:
            return self._known.kernel_places.by_id(identifier)
        return self._known.user_functions.by_id(identifier) if identifier >= blocks.PID.first else None

    def _offered(self, probe: Probe | None) -> Probe | None:
        if probe is None or self._offer is None:
            return probe
        return probe if self._offer.has_provider(probe.provider) and self._offer.fires(probe) else None

    def arguments(self, probe: Probe) -> tuple[TypedArgument, ...] | None:
        """The probe's `args[]`; None where its provider has no typed arguments."""
        if self.has_variables(probe):
            return None
        if isinstance(probe.firing, (StaticPattern, StaticProbe)):
            return self._known.static_probes.arguments(probe)
        return self._known.provider(probe.provider, self.match).arguments(probe)

    def argument_names(self, probe: Probe) -> tuple[str, ...] | None:
        """The names of the probe's `args[]`, None where they have none, or are variables of a program."""
        if isinstance(probe.firing, RawTracepoint) and probe.provider in ("rawtp", "sdt"):
            return self.types.tracepoint_parameters(probe.firing.name)
        if isinstance(probe.firing, KernelFunction) and probe.provider in FUNCTIONS:
            return self._known.function_provider(probe.provider).argument_names(probe)
        if isinstance(probe.firing, Syscall):
            return self._known.system_calls.argument_names(probe)
        if isinstance(probe.firing, KernelIterator):
            return self._known.iterators.argument_names(probe)
        if probe.provider == "sdt":
            return self._known.sdt.argument_names(probe)
        return None

    def has_variables(self, probe: Probe) -> bool:
        """Whether the probe is in a program, or in a function of the kernel and BTF does not tell of its arguments."""
        if isinstance(probe.firing, Uprobe) or probe.id >= blocks.KERNEL_PLACES.first:
            return True
        is_function = isinstance(probe.firing, KernelFunction) and probe.provider in FUNCTIONS
        return is_function and self._offer is None and self.signature(probe) is None

    def variable(self, probe: Probe, scope: str, name: str | int) -> Located:
        """A variable of a process, or of the kernel, at a probe. Raises SourceError."""
        if (
            isinstance(probe.firing, KernelFunction)
            and probe.provider in FUNCTIONS
            and (not probe.firing.is_return or self.has_variables(probe))
        ):
            return self._known.kernel_variables.find(probe, scope, name)
        if not isinstance(probe.firing, Uprobe):
            raise _without_variables(probe, scope, name)
        site = self._site(probe)
        return self._known.user_variables.find(probe, site.object, site.address, scope, name)

    def _site(self, probe: Probe) -> Site:
        """Of a function's probe, which may be one that was recorded. Raises SourceError."""
        assert isinstance(probe.firing, Uprobe)
        if self._offer is None or not self._offer.recorded(*probe[1:5]):
            return self._known.user_functions.site(probe)
        path = self.file(probe.firing.path)
        found = self._known.user_functions.site_in(path, probe.firing.offset) if path else None
        if found is None:
            text = f"the file that {probe} was recorded in is not here, or another one by now"
            raise SourceError(BAD_OBJECT, text, hint="arg0, arg1 ... and uregs[] are recorded")
        return found

    def file(self, path: str) -> str:
        """Where the file of a firing lies, "" if it is not here."""
        return self._offer.file(path) if self._offer is not None else path

    def derivations(self, probe: Probe) -> tuple[Derivation, ...]:
        """How the probe follows from others; () for a probe that has its firing to itself."""
        return self._known.derived(probe.provider, self.match).derivations(probe) if probe.provider in DERIVED else ()

    def fields(self, probe: Probe) -> tuple[RecordField, ...]:
        """Where a trace event's record has each of the probe's `args[]`; () unless its firing is a Tracepoint."""
        return self._known.sdt.fields(probe)

    def signature(self, probe: Probe) -> Function | None:
        """The type of a kernel function's probe, or an iterator's, None where BTF does not describe the function."""
        firing = probe.firing
        if isinstance(firing, KernelIterator):
            return self._known.iterators.signature(probe)
        if probe.provider in DERIVED and isinstance(firing, KernelFunction):
            probe = probe._replace(provider="fbt", module=firing.module, function=firing.name)
        return self._known.function_provider(probe.provider).signature(probe)

    def type_named(self, name: str, module: str | None = None) -> Type | None:
        """A kernel typedef or base type."""
        return self.types.type_named(name, module)

    def tagged_type(self, keyword: str, name: str, module: str | None = None) -> Type | None:
        """A kernel `struct`, `union` or `enum` by its tag."""
        return self.types.tagged_type(keyword, name, module)

    def enumerator(self, name: str) -> tuple[Type, int] | None:
        """A kernel enumeration constant."""
        return self.types.enumerator(name)

    def symbol(self, name: str, module: str | None = None) -> catalog.KernelSymbol | None:
        """Kernel data, or a function, by name; its type where BTF has it."""
        if self._known.kallsyms is None:
            type_ = self._symbol_type(name, module)
            return catalog.KernelSymbol(name, module or "vmlinux", 0, type_) if type_ else None
        found = self._known.kallsyms.find(name, module)
        if found is None:
            return None
        return catalog.KernelSymbol(name, found.module, found.address, self._symbol_type(name, found.module))

    def place_at(self, address: int) -> KernelFunction | None:
        """See `Catalog.place_at`."""
        kallsyms = self._known.kallsyms
        found = kallsyms.symbolize(address) if kallsyms is not None else None
        if kallsyms is None or found is None:
            return None
        module, name, offset = found
        same = sorted({each.address for each in kallsyms.all(name, module) if each.kind in "tTwW"})
        if address - offset not in same:
            return None
        which = same.index(address - offset) if len(same) > 1 else None
        return KernelFunction(module, name, False, which is None, True, offset, which)

    def _symbol_type(self, name: str, module: str | None) -> Type | None:
        found = self.types.variable(name, module)
        function = None if found else self.types.function(name, module)
        return function[0] if function else found

    def facts(self, spec: TracingSpec) -> list[tuple[str, str, str]]:
        """(kind, name, value) of all that compiling `spec` has asked the kernel for."""
        return providers_facts.gather(self.types, self._known.events, spec) + self._builds()

    @property
    def types(self) -> KernelTypes:
        """The kernel's types, for those who need more than the Catalog asks."""
        return self._known.types

    def _builds(self) -> list[tuple[str, str, str]]:
        """The builds of the kernel and of modules on whose code the program depends, of which there may be others with
        the same types."""
        asked = sorted(self._known.kernel_places.asked) if self._known.has("kernel_places") else []
        found = ((module, self._known.kernel_objects.build_id(module)) for module in asked)
        return [("build", module, build) for module, build in found if build]

    def fact(self, kind: str, name: str) -> str:
        """The value of one of the facts on this kernel, "" if there is no such thing."""
        if kind == "build":
            return self._known.kernel_objects.build_id(name)

        return providers_facts.value_of(kind, name, self.types, self._known.events)


def _of_process(provider: str) -> tuple[str, str]:
    """The name of a provider of one process, or a glob, and the process's number behind it; "" if there is none, as in
    nfsv4, which is one of the kernel's."""
    if provider in BLOCKS:
        return provider, ""
    head = provider.rstrip("0123456789")
    return (head, provider[len(head) :]) if head else (provider, "")


def _without_variables(probe: Probe, scope: str, name: str | int) -> SourceError:
    hint = "variables have names at probes in processes, and args-> in the kernel's functions and tracepoints"
    if isinstance(probe.firing, KernelFunction) and scope == "args":
        hint = "the kernel's BTF does not describe the function: arg0, arg1 ... are its arguments"
        if probe.firing.is_return:
            hint = f"save it at the entry, self->{name} = args->{name}, and use self->{name} here"
    return unavailable.unavailable(f"{scope}->{name}", f"{probe} has no variables with names", hint)


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
    if provider in FUNCTIONS:
        return exact in _NEVER_EVENTS[3:]
    if provider == "packet":
        return False
    if provider == "profile":
        return exact.startswith(("profile-", "tick-"))
    if provider in COUNTED:
        return exact[-1:].isdigit() and "-" in exact and not exact.startswith(("profile-", "tick-"))
    if provider in DERIVED:
        return exact not in _NEVER_EVENTS and not exact.startswith(("profile-", "tick-"))
    return is_word(exact) and exact not in _NEVER_EVENTS
