"""What a section's name says: of which type its program is and what fires it, as libbpf reads it
(Documentation/bpf/libbpf/program_types.rst)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sonde.bpf import programs
from sonde.model.probe import Firing, KernelFunction, RawTracepoint, StaticSite, Tracepoint, Uprobe
from sonde.objects import overflows, static_probes
from sonde.objects.choices import OFF, SectionPlace
from sonde.objects.errors import ObjectError
from sonde.objects.kernel_functions import VMLINUX, matching_functions, one_function, system_call_function
from sonde.objects.packet_sections import SECTIONS, PacketSection, firing, packet_section, shown
from sonde.objects.traceable_code import TraceableCode
from sonde.objects.user import matching_user_functions, user_function
from sonde.typed import NamedTuple, Protocol, TypeAlias

_PROBE_ID = re.compile(r"([A-Za-z_][\w.]*)(?:\+(0x[0-9a-fA-F]+|\d+))?")

GENERAL = "probe"
"""What the names of sections of general programs begin with."""

OF_MAPS = ("bpf_map_elem", "bpf_sk_storage_map")
"""Iterators that go through the elements of one map."""

SLEEPABLE = 1 << 4
"""BPF_F_SLEEPABLE."""


class SectionRequest(NamedTuple):
    """How a program is loaded, and what fires it; none (`firings` empty) for one that only others call by a tail call,
    for one whose section does not say where it is attached, and for an iterator.

    `sites` are those of a static probe, one for each of `firings`; `shown` is what fires it, for people; `iterated` is
    the map whose elements an iterator goes through; `names` are what `firings` are called, () for the section's.
    """

    kind: int
    attach_type: int = 0
    attach_to: str | None = None
    firings: tuple[Firing, ...] = ()
    flags: int = 0
    shown: str = ""
    sites: tuple[StaticSite, ...] = ()
    iterated: str = ""
    names: tuple[str, ...] = ()


class Having(Protocol):
    """What the kernel, or the engine that is in its place, can fire programs by."""

    called: str
    """`this kernel`, or the engine's name."""

    devices: Sequence[str]
    """Those that programs for packets are attached to where nobody names any."""

    def lacks_section(self, prefix: str) -> tuple[str, str]:
        """Why no program whose section begins so can be fired, and what would help; "" where one can."""

    def lacks_firing(self, firing: Firing) -> tuple[str, str]:
        """Likewise of what a section names."""

    def lacks_call(self, caller: int, called: int) -> tuple[str, str]:
        """Likewise of a tail call from a program of one type to one of another, or the same."""


Reader: TypeAlias = Callable[[str, str, TraceableCode], SectionRequest]
"""Takes what is behind the first slash of a section's name, the name, and what it can name."""


def request(
    section: str, traceable: TraceableCode, having: Having, places: Sequence[SectionPlace] = (), xdp: str = ""
) -> SectionRequest:
    """What the program in that section asks for, or, of the same kind, at these places, each written as in the name of
    a section behind its first slash; of programs for packets as `packet_sections.firing` takes it, with `xdp` as mode.
    Raises ObjectError, too, for what the kernel, or the engine, has not."""
    name = section.removeprefix(OFF)
    packets = packet_section(name)
    if packets is not None:
        return _for_packets(packets, name, having, places, xdp)
    for prefixes, read in _KINDS:
        for prefix in prefixes:
            if name == prefix or name.startswith(f"{prefix}/"):
                _require(having.lacks_section(prefix), name)
                by_kind = _Kind(prefix, read, traceable)
                asked = [_at(each, by_kind) for each in places] if places else [_asked(name, by_kind)]
                found = _together(asked, name)
                for each in found.firings:
                    _require(having.lacks_firing(each), found.shown)
                return found._replace(flags=SLEEPABLE if prefix.endswith(".s") else 0)
    raise ObjectError(f"programs of the section {section} cannot be attached", f"there can be: {_known()}")


def _for_packets(
    section: PacketSection, name: str, having: Having, places: Sequence[SectionPlace], xdp: str
) -> SectionRequest:
    _require(having.lacks_section(name.partition("/")[0]), name)
    firings = tuple(firing(section, name, each.text, xdp) for each in places)
    for each in firings:
        _require(having.lacks_firing(each), name)
    kind, attach_type = section.kind, section.attach_type
    return SectionRequest(kind, attach_type, firings=firings, flags=section.flags, shown=shown(name, firings))


def is_fired(wanted: SectionRequest) -> bool:
    """Whether something fires such a program, or reads what it writes, as of an iterator."""
    return bool(wanted.firings) or wanted.attach_type == programs.TRACE_ITER


def require_kind(prefix: str, section: str, having: Having) -> None:
    """Raises ObjectError where no program of that kind can be fired."""
    _require(having.lacks_section(prefix), section)


def _require(lacking: tuple[str, str], section: str) -> None:
    """Raises ObjectError where something is lacking, with what would help."""
    text, help_ = lacking
    if text:
        raise ObjectError(f"{section}: {text}", help_)


class _Kind(NamedTuple):
    """How the names of sections with a prefix are read."""

    prefix: str
    read: Reader
    traceable: TraceableCode


def _asked(section: str, kind: _Kind) -> SectionRequest:
    found = kind.read(section[len(kind.prefix) + 1 :], section, kind.traceable)
    return found._replace(shown=found.shown or section)


def _at(place: SectionPlace, kind: _Kind) -> SectionRequest:
    """The request of a program of that kind at a place."""
    found = _asked(f"{kind.prefix}/{place.text}", kind)
    if not place.pid:
        return found
    if not all(isinstance(each, Uprobe) for each in found.firings):
        raise ObjectError(
            f"{kind.prefix}/{place.text} is no place in a process: @$target is for programs and libraries"
        )
    firings = tuple(each._replace(pid=place.pid) for each in found.firings if isinstance(each, Uprobe))
    return found._replace(firings=firings, shown=f"{found.shown} in process {place.pid}")


def _together(requests: Sequence[SectionRequest], section: str) -> SectionRequest:
    """The request for all of these places."""
    first = requests[0]
    if len(requests) > 1 and (first.attach_to is not None or not first.firings):
        raise ObjectError(f"a program of the section {section} is attached to one place, and {len(requests)} are given")
    if any(each.kind != first.kind for each in requests):
        raise ObjectError(f"a program of the section {section} is for trace events or for other perf events, not both")
    firings = tuple(firing for each in requests for firing in each.firings)
    sites = tuple(site for each in requests for site in each.sites)
    names = tuple(each.shown.removeprefix(f"{GENERAL}/") for each in requests for _ in each.firings)
    shown = ", ".join(each.shown for each in requests)
    return first._replace(firings=firings, sites=sites, shown=shown, names=names)


def _known() -> str:
    return ", ".join((*(prefixes[-1] for prefixes, _ in _KINDS), *SECTIONS))


def _tracepoint(rest: str, section: str, traceable: TraceableCode) -> SectionRequest:
    if not rest:
        return SectionRequest(programs.TRACEPOINT)
    group, slash, name = rest.partition("/")
    if not (group and slash and name) or "/" in name:
        raise ObjectError(f"{section} does not name a trace event", 'write SEC("tracepoint/GROUP/EVENT")')
    return SectionRequest(programs.TRACEPOINT, firings=(Tracepoint(group, name),))


def _raw_tracepoint(rest: str, section: str, traceable: TraceableCode) -> SectionRequest:
    if not rest:
        return SectionRequest(programs.RAW_TRACEPOINT)
    _require_name(rest, section, "a tracepoint")
    return SectionRequest(programs.RAW_TRACEPOINT, firings=(RawTracepoint(rest),))


def _typed_tracepoint(rest: str, section: str, traceable: TraceableCode) -> SectionRequest:
    _require_name(rest, section, "a tracepoint")
    return SectionRequest(programs.TRACING, programs.TRACE_RAW_TP, f"btf_trace_{rest}", (RawTracepoint(rest),))


def _perf_event(rest: str, section: str, traceable: TraceableCode) -> SectionRequest:
    """The kernel has programs of trace events alone decide on the samples of these: their context is the record."""
    firing = overflows.overflow(rest, section)
    kind = programs.TRACEPOINT if isinstance(firing, Tracepoint) else programs.PERF_EVENT
    return SectionRequest(kind, firings=(firing,))


def _general(rest: str, section: str, traceable: TraceableCode) -> SectionRequest:
    """A general program: what is behind the slash is the section of any program that can be fired, or nothing."""
    if not rest:
        return SectionRequest(programs.PROBE)
    for prefixes, read in _CONVERTED:
        for prefix in prefixes:
            if rest.startswith(f"{prefix}/"):
                found = read(rest[len(prefix) + 1 :], section, traceable)
                return SectionRequest(programs.PROBE, firings=found.firings)
    known = ", ".join(f"{GENERAL}/{prefixes[-1]}/..." for prefixes, _ in _CONVERTED)
    raise ObjectError(f"{section} does not say what fires it", f"there can be: {known}, and {GENERAL} alone")


def _by_links(attach_type: int, find: Callable[[str, str, TraceableCode], tuple[Firing, ...]]) -> Reader:
    """A program of which one link may be in many places, those that `find` knows by what is behind the slash."""

    def read(rest: str, section: str, traceable: TraceableCode) -> SectionRequest:
        firings = find(rest, section, traceable) if rest else ()
        return SectionRequest(programs.KPROBE, attach_type, firings=firings)

    return read


def _user(kind: str) -> Reader:
    return _by_links(programs.TRACE_UPROBE_MULTI, lambda rest, section, code: user_function(rest, section, kind, code))


def _user_many(kind: str) -> Reader:
    return _by_links(
        programs.TRACE_UPROBE_MULTI, lambda rest, section, code: matching_user_functions(rest, section, kind, code)
    )


def _static(rest: str, section: str, traceable: TraceableCode) -> SectionRequest:
    if not rest:
        return SectionRequest(programs.KPROBE, programs.TRACE_UPROBE_MULTI)
    # What notes and operands are read with.

    firings, sites = static_probes.section_sites(rest, section, traceable)
    return SectionRequest(programs.KPROBE, programs.TRACE_UPROBE_MULTI, firings=firings, sites=sites)


def _kernel(is_return: bool) -> Reader:
    def read(rest: str, section: str, traceable: TraceableCode) -> SectionRequest:
        return SectionRequest(
            programs.KPROBE, firings=(one_function(rest, section, is_return, traceable),) if rest else ()
        )

    return read


def _kernel_many(is_return: bool) -> Reader:
    return _by_links(
        programs.TRACE_KPROBE_MULTI, lambda rest, section, code: matching_functions(rest, section, is_return, code)
    )


def _system_call(is_return: bool) -> Reader:
    def read(rest: str, section: str, traceable: TraceableCode) -> SectionRequest:
        if rest:
            _require_name(rest, section, "a system call")
        return SectionRequest(
            programs.KPROBE, firings=(system_call_function(rest, is_return, traceable),) if rest else ()
        )

    return read


def _iterator(rest: str, section: str, traceable: TraceableCode) -> SectionRequest:
    """What goes through is named by the kernel's function `bpf_iter_NAME`; of a map's elements the map follows."""
    kind, colon, name = rest.partition(":")
    _require_name(kind, section, "what to go through")
    if colon and (kind not in OF_MAPS or not name):
        raise ObjectError(f"{section} names a map, and iterators of {kind} have none")
    return SectionRequest(programs.TRACING, programs.TRACE_ITER, f"bpf_iter_{kind}", iterated=name)


def _trampoline(attach_type: int, is_return: bool) -> Reader:
    def read(rest: str, section: str, traceable: TraceableCode) -> SectionRequest:
        _require_name(rest, section, "a function")
        return SectionRequest(programs.TRACING, attach_type, rest, (KernelFunction(VMLINUX, rest, is_return),))

    return read


def _require_name(rest: str, section: str, what: str) -> None:
    if not _PROBE_ID.fullmatch(rest) or "+" in rest:
        raise ObjectError(f"{section} does not name {what}")


_CONVERTED: tuple[tuple[tuple[str, ...], Reader], ...] = (
    (("tracepoint", "tp"), _tracepoint),
    (("raw_tracepoint", "raw_tp"), _raw_tracepoint),
    (("perf_event",), _perf_event),
)
"""What may fire a general program."""

_KINDS: tuple[tuple[tuple[str, ...], Reader], ...] = (
    (("tracepoint", "tp"), _tracepoint),
    (("raw_tracepoint", "raw_tp"), _raw_tracepoint),
    (("tp_btf",), _typed_tracepoint),
    (("perf_event",), _perf_event),
    ((GENERAL,), _general),
    (("kprobe",), _kernel(False)),
    (("kretprobe",), _kernel(True)),
    (("kprobe.multi",), _kernel_many(False)),
    (("kretprobe.multi",), _kernel_many(True)),
    (("ksyscall",), _system_call(False)),
    (("kretsyscall",), _system_call(True)),
    (("fentry", "fentry.s"), _trampoline(programs.TRACE_FENTRY, False)),
    (("fexit", "fexit.s"), _trampoline(programs.TRACE_FEXIT, True)),
    (("uprobe", "uprobe.s"), _user("entry")),
    (("uretprobe", "uretprobe.s"), _user("return")),
    (("uprobe.multi", "uprobe.multi.s"), _user_many("entry")),
    (("uretprobe.multi", "uretprobe.multi.s"), _user_many("return")),
    (("usdt", "usdt.s"), _static),
    (("iter", "iter.s"), _iterator),
)
