"""What a recording can fire: its probes, those that the same events fire, and ticks, which need nothing but time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.engines.embedded.offer import EmbeddedOffer
from sonde.engines.embedded.sources.replayed import is_held
from sonde.engines.fired import EMBEDDED, FOREIGN, KERNEL, RecordedProbes
from sonde.model.probe import Firing, Internal, Packet, Probe, RawTracepoint, Syscall, Timer
from sonde.providers.pattern import Pattern
from sonde.runtime.kernel_types import description
from sonde.session.recorded_probes import RecordedPlaces

FEATURES = frozenset(
    (
        "raw_tp_cookie", "perf_cookie", "kprobe_cookie", "uprobe_cookie", "ringbuf", "syscalls_apart", "native_calls",
        "interpreted", "replays", "tcx", "packet_lengths", "packet_cookie",
    )
)  # fmt: skip
"""What it offers to programs, as that of the embedded engine; besides, `replays`: memory of the kernel, and of
processes, is what was read of it."""

_FOREIGN = frozenset(("caller", "stack", "stackdepth"))
"""What others may have recorded of the kernel, though the embedded engine sees nothing of it."""

_FUNCTIONS = ("fbt", "rawfbt")

_MADE_OF = {"vtimestamp": "rawtp:::sched_switch", "progenyof": "rawtp:::sched_process_fork"}
"""What hidden clauses of programs add up, and the tracepoint that each needs."""

_OF_OTHERS = "record the trace event of that name, too"


class ReplayOffer:
    """Of one recording."""

    def __init__(self, source: RecordedProbes) -> None:
        self._source = source
        self._probes = source.probes
        self._places = RecordedPlaces(source)
        self._is_foreign = source.origin == FOREIGN
        self._is_own = source.origin == EMBEDDED
        self._calls: set[tuple[int, bool]] | None = None
        self._embedded = None if source.origin == KERNEL else EmbeddedOffer()

    def types(self) -> bytes | None:
        """Of the kernel that is recorded, if it was that; else what the embedded engine makes."""
        if self._is_foreign:
            # What others recorded of the kernel is described as far as they told it.
            return description([each.firing.name for each in self._probes if isinstance(each.firing, RawTracepoint)])
        return None if self._embedded is None else self._embedded.types()

    def has_provider(self, name: str) -> bool:
        return name != "packet" or any(isinstance(each.firing, Packet) for each in self._probes)

    def has_helper(self, name: str) -> bool:
        return self._is_own and name in ("open_file", "cpu_time")

    def looks_at_calls(self) -> bool:
        """Processes are not probed."""
        return False

    def fires(self, probe: Probe) -> bool:
        match probe.firing:
            case Internal() | Timer(every_cpu=False):
                return True
        return is_held(probe, self._probes)

    def has_call(self, number: int, is_compat: bool) -> bool:
        """The kernel that was recorded may have had calls that the one that runs has not."""
        if self._calls is None:
            firings = (each.firing for each in self._probes)
            self._calls = {(each.number, each.compat) for each in firings if isinstance(each, Syscall)}
        return (number, is_compat) in self._calls

    def refused(self, probe: Probe) -> str:
        return f"the recording does not hold {probe}: it holds {self._held(probe.provider)}"

    def absence(self, provider: str, is_of_processes: bool) -> str:
        if is_of_processes:
            return f"the recording does not hold it: it holds {self._held(provider)}"
        if provider == "packet" and not self.has_provider(provider):
            return "the recording has no packets: record packet probes, or replay a pcap or pcapng file"
        if provider in _FUNCTIONS and not any(each.provider == provider for each in self._probes):
            return f"the recording does not hold {provider} probes: it holds {self._held(provider)}"
        return ""

    def part(self, provider: str, names: Iterable[str]) -> str:
        some = ", ".join(sorted(set(names)))
        return f"of {provider} probes the recording holds {some or 'none'}: it holds {self._held(provider)}"

    def file(self, path: str) -> str:
        """Where the file lies that firings call so, if the recorded one is here."""
        return self._source.file(path)

    def lacks(self, what: str, name: str) -> tuple[str, str]:
        if self._is_foreign and name in _FOREIGN:
            return "", ""
        needed = "" if self._is_own and name == "vtimestamp" else _MADE_OF.get(name, "")
        if needed and not any(_is_of(each.firing, needed) for each in self._probes):
            text = f"{name} is made of {needed}, which the recording does not hold"
            return text, _OF_OTHERS if self._is_foreign else f"record a script that asks for {name}"
        if self._embedded is not None:
            return self._embedded.lacks(what, name)
        if what == "data":
            return f"the recording does not hold {name}, which is data of the kernel", "trace with it live"
        return "", ""

    def recorded(self, provider: str, module: str, function: str, name: str) -> Sequence[Probe]:
        """The probes of processes that match."""
        return self._places.match(Pattern(provider, module, function, name))

    def recorded_by_id(self, identifier: int) -> Probe | None:
        return self._places.by_id(identifier)

    def _held(self, provider: str) -> str:
        """For people: few by name, first those of a provider, many by their providers."""
        held = [each for each in self._probes if not isinstance(each.firing, Internal)]
        names = sorted({str(each) for each in held})
        same = sorted({str(each) for each in held if each.provider == provider})
        if len(names) <= 3:
            return ", ".join(names) or "no probe"
        if 0 < len(same) <= 3:
            return f"{', '.join(same)}, and others"
        providers = sorted({each.provider for each in self._probes if not isinstance(each.firing, Internal)})
        return f"{len(names)} probes of {', '.join(providers)}"


def _is_of(firing: Firing, description: str) -> bool:
    """Whether it is the firing of the tracepoint that a description names."""
    return isinstance(firing, RawTracepoint) and not firing.filtered and description.endswith(f":{firing.name}")
