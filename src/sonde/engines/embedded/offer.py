"""What the embedded engine can fire and tell, and what it says of all else."""

from __future__ import annotations

from collections.abc import Iterable

from sonde.model.probe import (
    Internal,
    Packet,
    PerfEvent,
    Probe,
    RawTracepoint,
    StaticPattern,
    StaticProbe,
    Syscall,
    Timer,
    Uprobe,
)
from sonde.model.samples import CLOCKS
from sonde.runtime.kernel_types import TRACEPOINTS, description

_PROVIDERS = ("dtrace", "syscall", "profile", "rawtp", "proc", "sched", "cpc", "perf")

FEATURES = frozenset(
    (
        "raw_tp_cookie",
        "perf_cookie",
        "ringbuf",
        "syscalls_apart",
        "native_calls",
        "interpreted",
        "paths",
        "tcx",
        "packet_lengths",
        "packet_cookie",
        "general_probes",
        "uprobe_cookie",
    )
)
"""What it offers to programs, as `sonde doctor` names it of kernels. Besides: a program attached to system calls is run
for those alone, so that what one of them needs is no burden of the others; they are calls of 64-bit programs; sonde
executes the programs, slowly; a helper gives paths as text, others the lengths of packets of a file and the cookies of
programs that are run for packets; and programs of any kind may call general probes."""

_HELPERS = ("open_file", "cpu_time", "inject_result", "delay_task")

_SOFTWARE = (*CLOCKS, 2, 3, 4, 5, 6, 7, 8)
"""The software events that a thread counts, to PERF_COUNT_SW_EMULATION_FAULTS."""
"""PERF_COUNT_SW_CPU_CLOCK and PERF_COUNT_SW_TASK_CLOCK, which are the same of a thread that is looked at as it runs."""

KERNEL = "the kernel engine (root, or CAP_BPF and CAP_PERFMON)"

_VARIABLES = {
    "caller": f"{KERNEL} can tell which function of the kernel it is; ucaller is that of the process",
    "chip": f"{KERNEL} can tell",
    "curcpu": f"{KERNEL} can tell",
    "curthread": f"it is the kernel's own structure, which {KERNEL} can read; pid, tid, execname, curpsinfo and "
    "curlwpsinfo tell of the thread with both engines",
    "lgrp": f"{KERNEL} can tell",
    "pset": f"{KERNEL} can tell",
    "stackdepth": f"{KERNEL} can look at the kernel's stack; ustackdepth is that of the process",
}
_FUNCTIONS = {
    "d_path": f"{KERNEL} can follow its structures; fds[fd].fi_pathname, cwd and root are paths with both engines",
    "getf": f"it is the kernel's own structure, which {KERNEL} can read; fds[fd] describes the file with both engines",
    "stack": f"{KERNEL} can walk the kernel's stack; ustack() walks that of the process",
}
_DATA = f"it sees no data of the kernel; {KERNEL} does"


SAMPLED = f"the embedded engine samples by software events alone, as cpu-clock and page-faults, all or user; {KERNEL}"
"""Why it has no other perf events."""


def counts(event: PerfEvent) -> bool:
    """Whether it has that perf event."""
    return event.source == "software" and event.config[0] in _SOFTWARE and event.mode != "kernel"


class EmbeddedOffer:
    """`has_packets`: it is given a file of them."""

    def __init__(self, has_packets: bool = False) -> None:
        self._providers = (*_PROVIDERS, "packet") if has_packets else _PROVIDERS

    def types(self) -> bytes:
        return description()

    def has_provider(self, name: str) -> bool:
        return name in self._providers

    def has_helper(self, name: str) -> bool:
        return name in _HELPERS

    def looks_at_calls(self) -> bool:
        return True

    def fires(self, probe: Probe) -> bool:
        match probe.firing:
            case Internal() | Timer() | Packet():
                return True
            case PerfEvent() as event:
                return counts(event)
            case Syscall(compat=compat):
                return not compat
            case Uprobe() | StaticProbe() | StaticPattern():
                return True
            case RawTracepoint(name=name):
                return name in TRACEPOINTS
        return False

    def has_call(self, number: int, is_compat: bool) -> bool | None:
        return False if is_compat else None

    def refused(self, probe: Probe) -> str:
        """Why a probe of a provider that there is cannot fire, and what would help."""
        if isinstance(probe.firing, PerfEvent):
            return f"{SAMPLED} counts other events"
        return ""

    def recorded(self, provider: str, module: str, function: str, name: str) -> None:
        """Processes are those that run."""

    def recorded_by_id(self, identifier: int) -> None:
        """As above."""

    def file(self, path: str) -> str:
        """What processes call a file is read where they run."""
        return path

    def absence(self, provider: str, is_of_processes: bool) -> str:
        if is_of_processes:
            return ""
        if provider in ("", *self._providers) or not provider.isalnum():
            return ""
        if provider == "packet":
            return f"the embedded engine has the packets of a file: --packets FILE.pcapng; {KERNEL} those of devices"
        text = f"the embedded engine has no {provider} probes, `--engine embedded -l` lists its own"
        return f"{text}; {KERNEL} traces the kernel itself"

    def part(self, provider: str, names: Iterable[str]) -> str:
        """That it has these probes of a provider alone."""
        if provider == "syscall":
            return f"the embedded engine sees the calls of 64-bit programs alone; {KERNEL} sees the others"
        some = ", ".join(sorted(set(names)))
        if provider == "sched":
            why = "the kernel tells users when their threads leave a CPU, but neither why they sleep nor who wakes them"
            return f"of sched probes the embedded engine has {some} alone: {why}; {KERNEL} has the others"
        return f"of {provider} probes the embedded engine has {some or 'none'} alone; {KERNEL} has the others"

    def lacks(self, what: str, name: str) -> tuple[str, str]:
        if what == "argument":
            return f"{name} is not known to the embedded engine", f"{KERNEL} knows it"
        help_ = _DATA if what == "data" else (_VARIABLES if what == "variable" else _FUNCTIONS).get(name, "")
        return (f"{name} is not available with the embedded engine", help_) if help_ else ("", "")


def needs_processes(probes: Iterable[Probe]) -> tuple[str, str]:
    """Why these probes cannot fire where there are no processes to trace, and what would help; "" where they can."""
    for probe in probes:
        match probe.firing:
            case Internal() | Timer(every_cpu=False) | Packet():
                continue
        what = {"profile": "profile-n probes", "object": "programs of objects"}.get(
            probe.provider, f"{probe.provider} probes"
        )
        text = f"{what} need -c or -p with the embedded engine, which sees only those processes"
        return text, f"{KERNEL} traces the whole system"
    return "", ""
