"""--info of `bt`: what the kernel and sonde have, in bpftrace's form."""

from __future__ import annotations

import os
from collections.abc import Iterable

from sonde.library.inspection.capabilities import Capability, capabilities, has_breakpoints, has_iterators

_ALWAYS = (
    "probe_read", "probe_read_str", "probe_read_user", "probe_read_user_str", "probe_read_kernel",
    "probe_read_kernel_str", "get_current_cgroup_id", "send_signal", "get_ktime_ns",
)  # fmt: skip
"""Functions of all kernels that sonde runs on."""

_MAPS = ("hash", "percpu hash", "array", "percpu array", "stack_trace", "perf_event_array", "ringbuf")


_OF_5_19 = "ringbuf_dynptr"
"""A feature that came with Linux 5.19, as the function did that reads other CPUs' elements."""


def info(version: str) -> str:
    """The text, with the version of the language."""
    found = capabilities()
    system = os.uname()
    sections = {
        "System": [("OS", f"{system.sysname} {system.release} {system.version}"), ("Arch", system.machine)],
        "Build": [
            ("version", version),
            ("compiler", "sonde's own, without LLVM"),
            ("bcc library path resolution", "yes"),
            ("libdw (DWARF support)", "yes"),
            ("dwunwind (DWARF stack unwinding)", "yes"),
        ],
        "Kernel helpers": [
            *_all(_ALWAYS),
            *_states(found, (("get_func_ip", "fentry"), ("loop", "bpf_loop"), ("map_lookup_percpu_elem", _OF_5_19))),
        ],
        "Kernel features": [
            ("Loop support", _said(bool(found["bpf_loop"]))),
            *_states(found, (("btf", "btf_vmlinux"), ("uprobe_multi", "uprobe_multi"))),
            *_states(found, (("kprobe_multi", "kprobe_multi"), ("ringbuf", "ringbuf"))),
        ],
        "Map types": _all(_MAPS),
        "Probe types": [
            *_states(found, (("kprobe", "kprobe"), ("tracepoint", "tracefs"), ("perf_event", "perf_event"))),
            *_states(found, (("fentry", "fentry"), ("uprobe", "uprobe"), ("hardware", "cycles"))),
            ("iter", _said(has_iterators())),
            ("watchpoint", _said(has_breakpoints())),
        ],
    }
    return "\n".join(_section(title, rows) for title, rows in sections.items())


def _states(found: dict[str, Capability], pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """bpftrace's name of each, and what sonde's says."""
    return [(name, _said(bool(found[own]))) for name, own in pairs]


def _all(names: Iterable[str]) -> list[tuple[str, str]]:
    return [(name, _said(True)) for name in names]


def _said(is_there: bool) -> str:
    return "yes" if is_there else "no"


def _section(title: str, rows: Iterable[tuple[str, str]]) -> str:
    return f"{title}\n" + "".join(f"  {name}: {value}\n" for name, value in rows)
