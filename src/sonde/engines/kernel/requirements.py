"""Why a kernel refuses a map or a program, in a sentence: what D needs of it, and since when there is such a thing.

Nothing is decided by versions: only what the kernel has refused is looked up here.
"""

from __future__ import annotations

import os
import re

from sonde.bpf import maps, programs
from sonde.bpf.helpers import NAMES, OWN, name_of
from sonde.typed import NamedTuple


class Requirement(NamedTuple):
    """`purpose`, in the plural, is what D has it for; `since` the first kernel that has the `thing`."""

    purpose: str
    thing: str
    since: str


_TYPED = "arguments of rawtp probes"

MAPS = {
    maps.RINGBUF: Requirement("records", "ring buffers", "5.8"),
    maps.TASK_STORAGE: Requirement("thread-local variables", "task storage", "5.11"),
}
"""By kind of map."""

PROGRAMS = {
    programs.TRACING: Requirement(_TYPED, "tp_btf", "5.5"),
    programs.SYSCALL: Requirement(_TYPED, "programs of type syscall", "5.14"),
}
"""By type of program."""

_HELPERS = {
    "loop": ("loops and most subroutines for strings, paths, numbers and addresses", "5.17"),
    "get_attach_cookie": ("programs for several probes", "5.15"),
    "task_pt_regs": ("registers of a process", "5.15"),
    "task_storage_get": ("thread-local variables", "5.11"),
    "get_current_task_btf": ("the current thread's variables", "5.11"),
    "ringbuf_reserve": ("records", "5.8"),
    "ringbuf_output": ("records", "5.8"),
    "get_ns_current_pid_tgid": ("pid and tid in a container", "5.7"),
    "probe_read_kernel": ("reads of the kernel's memory", "5.5"),
    "probe_read_kernel_str": ("reads of the kernel's memory", "5.5"),
    "probe_read_user": ("reads of a process's memory", "5.5"),
    "probe_read_user_str": ("reads of a process's memory", "5.5"),
    "send_signal": ("calls of raise()", "5.3"),
    "get_stack": ("stack() and ustack()", "4.18"),
    "override_return": ("calls of override(), on kernels with CONFIG_BPF_KPROBE_OVERRIDE,", "4.16"),
    "probe_write_user": ("copyout() and copyoutstr()", "4.8"),
}
"""Purpose and version by a helper's name."""

_NO_HELPER = re.compile(r"(?:unknown func|invalid func|cannot use helper) \S+#(\d+)")
"""The verifier's words for a helper that it does not know, or not for this type of program."""


def too_old(requirement: Requirement) -> str:
    """That this kernel is too old for it; "" if it is not."""
    release = os.uname().release
    if _version(release) >= _version(requirement.since):
        return ""
    return (
        f"{requirement.purpose} need {requirement.thing}, which came with Linux {requirement.since}; this is {release}"
    )


def missing_helper(log: str) -> str:
    """Which helper the program was refused for, by the verifier's log, and why there is none; "" if for another
    reason."""
    found = _NO_HELPER.search(log)
    if not found:
        return ""
    name = NAMES[int(found[1])] if int(found[1]) < len(NAMES) else ""
    helper = name_of(int(found[1]))
    if int(found[1]) in OWN:
        return f"it needs {helper}, which the embedded engine alone has: --engine embedded"
    if name not in _HELPERS:
        return f"it needs {helper}, which this kernel has not or does not allow programs of its type"
    purpose, since = _HELPERS[name]
    requirement = Requirement(purpose, helper, since)
    return too_old(requirement) or f"{purpose} need {requirement.thing}, which this kernel has not or forbids"


def _version(text: str) -> tuple[int, ...]:
    """(major, minor) of a kernel's release."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])
