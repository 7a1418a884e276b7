"""BPF program types and attach types (enum bpf_prog_type and bpf_attach_type, include/uapi/linux/bpf.h)."""

from __future__ import annotations

_NAMES = (
    "unspec socket_filter kprobe sched_cls sched_act tracepoint xdp perf_event cgroup_skb cgroup_sock lwt_in lwt_out "
    "lwt_xmit sock_ops sk_skb cgroup_device sk_msg raw_tracepoint cgroup_sock_addr lwt_seg6local lirc_mode2 "
    "sk_reuseport flow_dissector cgroup_sysctl raw_tracepoint_writable cgroup_sockopt tracing struct_ops ext lsm "
    "sk_lookup syscall netfilter"
)
NAMES = tuple(_NAMES.split())
"""Names by number, as bpftool prints them."""

SOCKET_FILTER = 1
KPROBE = 2
SCHED_CLS = 3
TRACEPOINT = 5
XDP = 6
PERF_EVENT = 7
CGROUP_SKB = 8
RAW_TRACEPOINT = 17
TRACING = 26
STRUCT_OPS = 27
LSM = 29
SYSCALL = 31

FOR_PACKETS = (SOCKET_FILTER, SCHED_CLS, XDP)
"""Run for packets of a device; they have fewer helpers than tracing programs."""

PROBE = 1 << 16
"""A general probe: the embedded engine's own type, beyond all that the kernel will ever have. Programs of other types
call it by tail call; its context is described in `probe_context`."""


def name_of(kind: int) -> str:
    """The type's name, its number where it has none."""
    if kind == PROBE:
        return "probe"
    return NAMES[kind] if kind < len(NAMES) else str(kind)


F_SLEEPABLE = 1 << 4
"""BPF_F_SLEEPABLE, a flag of BPF_PROG_LOAD: the program may wait, for pages of a process among other things."""


F_XDP_HAS_FRAGS = 1 << 5
"""BPF_F_XDP_HAS_FRAGS: the program takes packets that are in several pieces."""


# Attach types.
ATTACH_NONE = 0
TRACE_RAW_TP = 23
TRACE_FENTRY = 24
TRACE_FEXIT = 25
MODIFY_RETURN = 26
TRACE_ITER = 28
ATTACH_XDP = 37
ATTACH_PERF_EVENT = 41
TRACE_KPROBE_MULTI = 42
TCX_INGRESS = 46
TCX_EGRESS = 47
TRACE_UPROBE_MULTI = 48
TRACE_KPROBE_SESSION = 56
TRACE_UPROBE_SESSION = 57
