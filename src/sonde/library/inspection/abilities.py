"""What people want to do, and whether it can be done here."""

from __future__ import annotations

from collections.abc import Mapping

from sonde.library.inspection.capabilities import Capability, capabilities
from sonde.typed import NamedTuple


class Ability(NamedTuple):
    """Something that people want to do, true where it can be done. `purpose` names the probes that it takes. It needs
    one capability of each group of `needed`; `missing` is the first of the group of which there is none, else None."""

    name: str
    purpose: str
    needed: tuple[tuple[str, ...], ...]
    missing: Capability | None = None

    def __bool__(self) -> bool:
        return self.missing is None


_ABILITIES = (
    Ability("whole system", "syscall, proc, sched, io, tcp, rawtp probes", (("bpf",), ("lockdown",), ("tp_btf",))),
    Ability("timers", "profile and tick probes, samples", (("perf_event",),)),
    Ability("kernel functions", "fbt probes", (("bpf",), ("fentry", "kprobe_multi", "kprobe"), ("functions",))),
    Ability("kernel types", "args[] and structures of the kernel", (("btf_vmlinux",),)),
    Ability("kernel names", "stacks and addresses of the kernel by name", (("kallsyms",),)),
    Ability("functions of programs", "pid, uprobe and USDT probes, source lines", (("bpf",), ("uprobe",))),
    Ability("packets", "packet probes", (("bpf",),)),
    Ability("hardware counters", "cpc and perf probes of the processor", (("cycles",),)),
    Ability("without privilege", "system calls, processes, signals and user stacks of -c and -p", (("embedded",),)),
)  # fmt: skip
"""What matters first, then what fewer people ask for."""


def abilities(found: Mapping[str, Capability] | None = None) -> dict[str, Ability]:
    """What `sonde doctor` shows first, by name and in its order, from capabilities that have been `found` already, or
    those of this moment."""
    known = capabilities() if found is None else found
    return {each.name: each._replace(missing=_missing(each, known)) for each in _ABILITIES}


def _missing(ability: Ability, known: Mapping[str, Capability]) -> Capability | None:
    for group in ability.needed:
        if not any(known[name] for name in group):
            return known[group[0]]
    return None
