"""The members of the kernel's struct perf_sample_data (include/linux/perf_event.h) that programs may read where an
event's overflow fires them, and what perf has to be asked for.

The kernel fills in what attr.sample_type asks for before it runs the program, since Linux 6.3 (perf_prepare_sample in
bpf_overflow_handler, kernel/events/core.c); before that, only what its event source had.
"""

from __future__ import annotations

from sonde.formats import perf_events as perf
from sonde.model.probe import BREAKPOINT, Firing, PerfEvent
from sonde.typed import NamedTuple

STRUCTURE = "perf_sample_data"
SINCE = "6.3"
PREPARED = "dyn_size"
"""A member that came with those that are filled in before programs run."""


class SampleMember(NamedTuple):
    """`path` leads to it from the structure; `asks` are bits of attr.sample_type. `is_hardware`: only the processor's
    own events have it."""

    path: tuple[str, ...]
    asks: int = 0
    is_hardware: bool = False


MEMBERS: dict[str, SampleMember] = {
    "addr": SampleMember(("addr",), perf.SAMPLE_ADDR),
    "sample_flags": SampleMember(("sample_flags",)),
    "dyn_size": SampleMember(("dyn_size",)),
    "type": SampleMember(("type",)),
    "pid": SampleMember(("tid_entry", "pid"), perf.SAMPLE_TID),
    "tid": SampleMember(("tid_entry", "tid"), perf.SAMPLE_TID),
    "time": SampleMember(("time",), perf.SAMPLE_TIME),
    "id": SampleMember(("id",), perf.SAMPLE_IDENTIFIER),
    "cpu": SampleMember(("cpu_entry", "cpu"), perf.SAMPLE_CPU),
    "cgroup": SampleMember(("cgroup",), perf.SAMPLE_CGROUP),
    "phys_addr": SampleMember(("phys_addr",), perf.SAMPLE_PHYS_ADDR),
    "data_page_size": SampleMember(("data_page_size",), perf.SAMPLE_DATA_PAGE_SIZE),
    "code_page_size": SampleMember(("code_page_size",), perf.SAMPLE_CODE_PAGE_SIZE),
    "weight": SampleMember(("weight", "full"), perf.SAMPLE_WEIGHT, True),
    "data_src": SampleMember(("data_src", "val"), perf.SAMPLE_DATA_SRC, True),
    "txn": SampleMember(("txn",), perf.SAMPLE_TRANSACTION, True),
}
"""By the name that `args[0]->` has them by; `period`, `ip` and the registers are not among them, as every program has
those, and `addr` is the kernel's word for one that stands in the program's context as well."""


OF_OBJECTS: dict[str, int] = {
    **{each.path[0]: each.asks for each in MEMBERS.values() if each.asks},
    "ip": perf.SAMPLE_IP,
    "callchain": perf.SAMPLE_CALLCHAIN,
}
"""The bits of attr.sample_type for members by the names of the structure itself, as programs of objects read it."""

_UNFILLED = {
    "raw": "its event has no data of its own",
    "br_stack": "bpf_read_branch_records() has branch records",
    "br_stack_cntr": "bpf_read_branch_records() has branch records",
    "regs_user": "bpf_task_pt_regs() has the registers of the process",
    "regs_intr": "registers are in the program's context",
    "stack_user_size": "it counts bytes of a stack that is copied, and nobody copies one",
    "stream_id": "perf's records of other kinds would end otherwise if samples had it; id is the event's number",
    "aux_size": "it counts bytes of a trace that the processor writes, which nobody takes",
}
"""What nobody asks perf for, since a sample would be written otherwise for it, and where there is the like."""


def object_refusal(name: str, firing: Firing) -> str:
    """Why a program of an object cannot read a member of the structure, "" if it can."""
    if name in _UNFILLED:
        return _UNFILLED[name]
    return refusal(name, firing) if name in MEMBERS else ""


def refusal(name: str, firing: Firing) -> str:
    """Why such a probe's programs do not read a member, "" if they may."""
    if MEMBERS[name].is_hardware and not _is_hardware(firing):
        return "the processor measures it, with events of its own: perf:cpu::mem-loads-1000"
    return ""


def _is_hardware(firing: Firing) -> bool:
    return isinstance(firing, PerfEvent) and firing.source not in ("software", BREAKPOINT)
