"""What the embedded engine has for programs of objects: types, and what fires them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from sonde.bpf import programs
from sonde.bpf.btf import Btf
from sonde.bpf.programs import name_of
from sonde.engines.embedded.offer import KERNEL, SAMPLED, counts
from sonde.engines.embedded.sources.contexts import event_of
from sonde.model.probe import Firing, Packet, PerfEvent, RawTracepoint, Timer, Tracepoint, Uprobe
from sonde.runtime.kernel_types import TRACEPOINTS, description
from sonde.runtime.programs.program_types import may_call

_KERNEL = f"{KERNEL} has it"
_KINDS = (
    "tracepoint", "tp", "raw_tracepoint", "raw_tp", "tp_btf", "perf_event", "uprobe", "uretprobe", "uprobe.multi",
    "uretprobe.multi", "usdt", "probe",
)  # fmt: skip
"""What the names of sections begin with whose programs the engine fires."""

_SLEEPABLE = ("uprobe.s", "uretprobe.s", "uprobe.multi.s", "uretprobe.multi.s", "usdt.s")
"""What may sleep in the kernel, and is as all others here."""

_FOR_PACKETS = ("xdp", "xdp.frags", "tc", "tcx", "classifier", "socket")
"""Likewise where it is given a file of packets."""


class EmbeddedTypes:
    """The engine as an object's code is fitted to it (`objects.core.Kernel`)."""

    called = "the embedded engine"
    links_uprobes = True
    has_fetching = True
    looks_at_calls = True

    def __init__(self, devices: Sequence[str] | None = None) -> None:
        """`devices` are those of the file of packets that the engine is given, none where programs are not attached;
        None: there is no such file."""
        self.devices = devices or ()
        self._has_packets = devices is not None

    @cached_property
    def main(self) -> Btf:
        return Btf(description())

    def candidates(self, name: str, kinds: Iterable[int]) -> Sequence[tuple[Btf, int]]:
        """The engine's types of a name and one of these kinds."""
        return [(self.main, each) for each in self.main.find_all(name, *kinds)]

    def lacks_section(self, prefix: str) -> tuple[str, str]:
        """Why no program whose section begins so can be fired, and what would help; "" where one can."""
        if prefix in (*_KINDS, *_SLEEPABLE) or (prefix in _FOR_PACKETS and self._has_packets):
            return "", ""
        if prefix in _FOR_PACKETS:
            text = "the embedded engine has the packets of a file alone"
            return text, f"--packets FILE.pcapng names one; {KERNEL} has those of devices"
        fired = ", ".join(each for each in _KINDS if each not in ("tp", "raw_tp"))
        return f"the embedded engine fires no {prefix} programs, but {fired}", _KERNEL

    def lacks_call(self, caller: int, called: int) -> tuple[str, str]:
        """Likewise of a tail call from a program of one type to one of another, or the same."""
        if may_call(caller, called):
            return "", ""
        return (
            "the embedded engine lets programs call those of their own type and general ones",
            f'make the one that is called general: SEC("{name_of(programs.PROBE)}")',
        )

    def lacks_firing(self, firing: Firing) -> tuple[str, str]:
        """Likewise of what a section names."""
        match firing:
            case PerfEvent() as event if not counts(event):
                return f"{SAMPLED} counts other events", ""
            case Tracepoint(period=period) if period:
                return f"{SAMPLED} samples trace events", ""
            case Tracepoint(group=group, name=name) if event_of(firing) is None:
                text = f"the embedded engine has no trace event {group}/{name}, but those of system calls"
                return text, f"raw_tp/NAME has other tracepoints; {_KERNEL}" if name in TRACEPOINTS else _KERNEL
            case RawTracepoint(name=name) if name not in TRACEPOINTS:
                return f"the embedded engine has no tracepoint {name}, but {', '.join(TRACEPOINTS)}", _KERNEL
            case Packet(device=device) if device not in self.devices:
                return f"the file of packets has no device {device}", f"it has: {', '.join(self.devices)}"
            case Packet() | Timer() | PerfEvent() | Tracepoint() | RawTracepoint() | Uprobe():
                return "", ""
        return "the embedded engine does not fire it", _KERNEL
