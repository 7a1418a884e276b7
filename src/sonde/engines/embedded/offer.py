"""What the embedded engine can fire and tell, and what it says of all else."""

from __future__ import annotations

from collections.abc import Iterable

from sonde.model.probe import Internal, PerfEvent, Probe, RawTracepoint, Syscall, Timer
from sonde.runtime.kernel_types import TRACEPOINTS, description

_PROVIDERS = ("dtrace", "syscall", "profile", "rawtp", "proc", "sched", "cpc", "perf")

FEATURES = frozenset(
    ("raw_tp_cookie", "perf_cookie", "ringbuf", "syscalls_apart", "native_calls", "interpreted", "paths")
)
"""What it offers to programs, as `sonde doctor` names it of kernels. Besides: a program attached to system calls is run
for those alone, so that what one of them needs is no burden of the others; they are calls of 64-bit programs; sonde
executes the programs, slowly; and a helper gives paths as text."""

_HELPERS = ("open_file", "cpu_time")

_CLOCKS = (0, 1)
"""PERF_COUNT_SW_CPU_CLOCK and PERF_COUNT_SW_TASK_CLOCK, which are the same of a thread that is looked at as it runs."""

_KERNEL = "the kernel engine (root, or CAP_BPF and CAP_PERFMON)"

_VARIABLES = {
    "caller": f"{_KERNEL} can tell which function of the kernel it is; ucaller is that of the process",
    "chip": f"{_KERNEL} can tell",
    "curcpu": f"{_KERNEL} can tell",
    "curthread": f"it is the kernel's own structure, which {_KERNEL} can read; pid, tid, execname, curpsinfo and "
    "curlwpsinfo tell of the thread with both engines",
    "lgrp": f"{_KERNEL} can tell",
    "pset": f"{_KERNEL} can tell",
    "stackdepth": f"{_KERNEL} can look at the kernel's stack; ustackdepth is that of the process",
}
_FUNCTIONS = {
    "d_path": f"{_KERNEL} can follow its structures; fds[fd].fi_pathname, cwd and root are paths with both engines",
    "getf": f"it is the kernel's own structure, which {_KERNEL} can read; fds[fd] describes the file with both engines",
    "stack": f"{_KERNEL} can walk the kernel's stack; ustack() walks that of the process",
}
_DATA = f"it sees no data of the kernel; {_KERNEL} does"


class EmbeddedOffer:
    def types(self) -> bytes:
        return description()

    def has_provider(self, name: str) -> bool:
        return name in _PROVIDERS

    def has_helper(self, name: str) -> bool:
        return name in _HELPERS

    def fires(self, probe: Probe) -> bool:
        match probe.firing:
            case Internal() | Timer():
                return True
            case PerfEvent(source="software", config=(number, _, _), mode=mode):
                return number in _CLOCKS and mode != "kernel"
            case Syscall(compat=compat):
                return not compat
            case RawTracepoint(name=name):
                return name in TRACEPOINTS
        return False

    def refused(self, probe: Probe) -> str:
        """Why a probe of a provider that there is cannot fire, and what would help."""
        if isinstance(probe.firing, PerfEvent):
            text = "the embedded engine samples by the clock alone: cpu_clock and task_clock, all or user"
            return f"{text}; {_KERNEL} counts other events"
        return ""

    def absence(self, provider: str) -> str:
        if provider in ("", *_PROVIDERS) or not provider.isalnum():
            return ""
        text = f"the embedded engine has no {provider} probes, `--engine embedded -l` lists its own"
        return f"{text}; {_KERNEL} traces the kernel itself"

    def part(self, provider: str, names: Iterable[str]) -> str:
        """That it has these probes of a provider alone."""
        if provider == "syscall":
            return f"the embedded engine sees the calls of 64-bit programs alone; {_KERNEL} sees the others"
        some = ", ".join(sorted(set(names)))
        if provider == "sched":
            why = "the kernel tells users when their threads leave a CPU, but neither why they sleep nor who wakes them"
            return f"of sched probes the embedded engine has {some} alone: {why}; {_KERNEL} has the others"
        return f"of {provider} probes the embedded engine has {some or 'none'} alone; {_KERNEL} has the others"

    def lacks(self, what: str, name: str) -> tuple[str, str]:
        if what == "argument":
            return f"{name} is not known to the embedded engine", f"{_KERNEL} knows it"
        help_ = _DATA if what == "data" else (_VARIABLES if what == "variable" else _FUNCTIONS).get(name, "")
        return (f"{name} is not available with the embedded engine", help_) if help_ else ("", "")


def needs_processes(probes: Iterable[Probe]) -> tuple[str, str]:
    """Why these probes cannot fire where there are no processes to trace, and what would help; "" where they can."""
    for probe in probes:
        match probe.firing:
            case Internal() | Timer(every_cpu=False):
                continue
        what = "profile-n" if probe.provider == "profile" else probe.provider
        text = f"{what} probes need -c or -p with the embedded engine, which sees only those processes"
        return text, f"{_KERNEL} traces the whole system"
    return "", ""
