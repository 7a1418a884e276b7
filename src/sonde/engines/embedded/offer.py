"""What the embedded engine can fire and tell, and what it says of all else."""

from __future__ import annotations

from sonde.engines.embedded.kernel_types import TRACEPOINTS, description
from sonde.probe import Internal, Probe, RawTracepoint, Syscall, Timer
from sonde.typed import NamedTuple

_PROVIDERS = ("dtrace", "syscall", "profile", "rawtp", "proc", "sched")
_OF_PROCESSES = ("syscall", "rawtp", "proc", "sched")

FEATURES = frozenset(("raw_tp_cookie", "perf_cookie"))
"""What it offers to programs, as `sonde doctor` names it of kernels."""

_ROOT = "the kernel engine (root, or CAP_BPF and CAP_PERFMON)"

_VARIABLES = {
    "curthread": f"curthread is the kernel's own structure of the thread; {_ROOT} can read it, while pid, tid, "
    "execname, curpsinfo and curlwpsinfo tell of the thread with both",
    "curcpu": f"curcpu cannot be known outside of the kernel: {_ROOT} can tell",
    "caller": f"caller is a function of the kernel: {_ROOT} can tell; ucaller is that of the process",
    "stackdepth": f"stackdepth is of the kernel's stack: {_ROOT} can look at it; ustackdepth is that of the process",
    "vtimestamp": f"vtimestamp follows when a CPU changes threads: {_ROOT} can",
}

_FUNCTIONS = {
    "stack": f"stack() is the kernel's: {_ROOT} can walk it; ustack() is that of the process",
}


class Offer(NamedTuple):
    """`follows`: there are processes of -c or -p to trace, or nothing is to be run."""

    follows: bool

    def types(self) -> bytes:
        return description()

    def has_provider(self, name: str) -> bool:
        return name in _PROVIDERS and (self.follows or name not in _OF_PROCESSES)

    def fires(self, probe: Probe) -> bool:
        match probe.firing:
            case Internal():
                return True
            case Syscall(compat=compat):
                return not compat
            case Timer(every_cpu=every_cpu):
                return self.follows or not every_cpu
            case RawTracepoint(name=name):
                return name in TRACEPOINTS
        return False

    def absence(self, provider: str) -> str:
        if not self.follows and provider in (*_OF_PROCESSES, "profile"):
            what = "profile-n probes need" if provider == "profile" else f"{provider} probes need"
            return (
                f"{what} -c or -p with the embedded engine, which sees only those processes and their children; "
                f"{_ROOT} traces the whole system"
            )
        if provider in ("", *_PROVIDERS):
            return ""
        return f"the embedded engine has no {provider} probes; {_ROOT} may have"

    def lacks(self, what: str, name: str) -> str:
        if what == "data":
            return f"{name}: the embedded engine sees no data of the kernel; {_ROOT} does"
        found = (_VARIABLES if what == "variable" else _FUNCTIONS).get(name)
        return f"the embedded engine has no {name}: {found}" if found else ""
