"""Which uprobes of an object are attached by multi-uprobe links, which their programs have to be loaded for.

CAP_BPF and CAP_PERFMON are enough for such a link (bpf_uprobe_multi_link_attach, kernel/trace/bpf_trace.c); a perf
event of a uprobe, the other way, takes CAP_SYS_ADMIN. So all uprobes are of links where the kernel has them, from 6.6
on.
"""

from __future__ import annotations

from collections.abc import Collection

from sonde.bpf import programs
from sonde.objects.sections import SectionRequest


def is_mixed(requests: Collection[SectionRequest]) -> bool:
    """Whether programs of uprobes are beside others of their type. These have another attach type, and the kernel lets
    an array of programs have those of one alone (bpf_prog_map_compatible, kernel/bpf/core.c)."""
    kinds = {each.attach_type for each in requests if each.kind == programs.KPROBE}
    return programs.TRACE_UPROBE_MULTI in kinds and len(kinds) > 1


def unlinked(request: SectionRequest) -> SectionRequest:
    """The request of a program whose uprobes are attached one by one, each by a perf event."""
    if request.kind == programs.KPROBE and request.attach_type == programs.TRACE_UPROBE_MULTI:
        return request._replace(attach_type=programs.ATTACH_NONE)
    return request
