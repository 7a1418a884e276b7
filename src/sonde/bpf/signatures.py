"""Signatures of BPF helpers: what each argument must be, what comes back, and who may call (struct bpf_func_proto).

The sources are the prototypes in kernel/bpf/helpers.c, kernel/bpf/ringbuf.c, kernel/trace/bpf_trace.c and
net/core/filter.c of Linux 6.18, and check_map_func_compatibility in kernel/bpf/verifier.c.
"""

from __future__ import annotations

from sonde.bpf import maps, programs
from sonde.bpf.helpers import NUMBERS
from sonde.typed import NamedTuple
from sonde.untrusted import lines

ARGUMENTS = {
    "scalar": "any value that is initialised",
    "context": "the program's context, as it was given",
    "map": "a map of one of `Signature.map_kinds`",
    "key": "memory that holds a key of the map: readable, initialised, of its key size",
    "value": "memory that holds a value of the map",
    "value_out": "memory that a value of the map is written to; it need not be initialised",
    "value_or_null": "memory that holds a value of the map, or 0",
    "memory": "readable, initialised memory, of as many bytes as the next argument says",
    "memory_or_null": "the same, or 0 if the size is 0",
    "memory_out": "writable memory, of as many bytes as the next argument says; it need not be initialised",
    "memory_out_or_null": "the same, or 0 if the size is 0",
    "size": "the size of the memory before it: bounded, and above 0",
    "size_or_zero": "the same, but may be 0",
    "long_out": "writable memory of 8 bytes, aligned to 8; it need not be initialised",
    "string": "a string that ends in a NUL, inside a frozen map that programs may not write",
    "constant": "a number known when the program is verified: the size of the record",
    "record": "a record of a ring buffer, as it was reserved; the call releases it",
    "slot": "a slot of a perf ring, as it was reserved; the call releases it",
    "task": "a pointer to a task",
    "task_or_null": "a pointer to a task, or 0",
    "callback": "the address of one of the program's functions",
    "stack_or_null": "a pointer into the stack, or 0: what the callback gets",
}
"""Kinds of arguments."""

RESULTS = {
    "scalar": "a number",
    "void": "nothing: r0 cannot be read",
    "length": "a number from -4095 to the largest value that the call's size argument can have",
    "cpu": "the number of a CPU",
    "value_or_null": "a pointer to a value of the map (an inner map where it holds maps), or 0",
    "record_or_null": "a reserved record of as many bytes as the `constant` says, which has to be released, or 0",
    "slot_or_null": "the same in a perf ring",
    "task": "a pointer to a task",
    "registers": "a pointer to the struct pt_regs of the task",
}
"""Kinds of results."""


class Signature(NamedTuple):
    """`arguments` are kinds by `ARGUMENTS`, `result` one of `RESULTS`.

    `programs` are the program types that may call the helper, None: all. `map_kinds` are the maps it takes, if it
    takes one. `writes_map`: it changes the map, so that F_RDONLY_PROG forbids it. `moves_packet`: pointers into the
    packet are lost. `packet_access`: memory that it takes may be bytes of the packet (`pkt_access`). `sleeps`: only
    programs that may sleep may call it.
    """

    name: str
    number: int
    arguments: tuple[str, ...]
    result: str
    programs: frozenset[int] | None = None
    map_kinds: frozenset[int] = frozenset()
    writes_map: bool = False
    moves_packet: bool = False
    packet_access: bool = False
    sleeps: bool = False


_TABLE = """
map_lookup_elem           value_or_null   map key
map_update_elem           scalar          map key value scalar
map_delete_elem           scalar          map key
map_push_elem             scalar          map value scalar
map_pop_elem              scalar          map value_out
map_peek_elem             scalar          map value_out
map_lookup_percpu_elem    value_or_null   map key scalar
for_each_map_elem         scalar          map callback stack_or_null scalar
probe_read                scalar          memory_out size_or_zero scalar
probe_read_user           scalar          memory_out size_or_zero scalar
probe_read_kernel         scalar          memory_out size_or_zero scalar
probe_read_str            length          memory_out size_or_zero scalar
probe_read_user_str       length          memory_out size_or_zero scalar
probe_read_kernel_str     length          memory_out size_or_zero scalar
probe_write_user          scalar          scalar memory size
copy_from_user            scalar          memory_out size_or_zero scalar
copy_from_user_task       scalar          memory_out size_or_zero scalar task scalar
ktime_get_ns              scalar
ktime_get_boot_ns         scalar
ktime_get_coarse_ns       scalar
ktime_get_tai_ns          scalar
jiffies64                 scalar
get_prandom_u32           scalar
get_smp_processor_id      cpu
get_numa_node_id          scalar
get_current_pid_tgid      scalar
get_current_uid_gid       scalar
get_current_comm          scalar          memory_out size
get_current_task          scalar
get_current_task_btf      task
get_current_cgroup_id     scalar
get_current_ancestor_cgroup_id scalar     scalar
get_ns_current_pid_tgid   scalar          scalar scalar memory_out size
task_pt_regs              registers       task
task_storage_get          value_or_null   map task_or_null value_or_null scalar
task_storage_delete       scalar          map task_or_null
ringbuf_output            scalar          map memory size_or_zero scalar
ringbuf_reserve           record_or_null  map constant scalar
ringbuf_submit            void            record scalar
ringbuf_discard           void            record scalar
ringbuf_query             scalar          map scalar
perf_event_output         scalar          context map scalar memory size_or_zero
perf_event_reserve        slot_or_null    map constant scalar
perf_event_commit         void            slot scalar
perf_event_read           scalar          map scalar
perf_event_read_value     scalar          map scalar memory_out size
perf_prog_read_value      scalar          context memory_out size
read_branch_records       scalar          context memory_out_or_null size_or_zero scalar
get_stackid               scalar          context map scalar
get_stack                 length          context memory_out size_or_zero scalar
get_task_stack            length          task memory_out size_or_zero scalar
get_attach_cookie         scalar          context
get_func_ip               scalar          context
tail_call                 void            context map scalar
fetch_variables           scalar          context memory_out size
probe_name                scalar          context memory_out size
open_file                 scalar          scalar
path_text                 length          memory_out size scalar
cpu_time                  scalar
firing_cpu                scalar
firing_parent             scalar
firing_image              scalar
firing_missed             scalar          scalar
firing_packet             scalar          scalar
inject_result             scalar          scalar
delay_task                scalar          scalar
packet_length             scalar          context
packet_cookie             scalar          context
loop                      scalar          scalar callback stack_or_null scalar
send_signal               scalar          scalar
send_signal_thread        scalar          scalar
strncmp                   scalar          memory size string
strtol                    scalar          memory size scalar long_out
strtoul                   scalar          memory size scalar long_out
snprintf                  scalar          memory_out_or_null size_or_zero string memory_or_null size_or_zero
trace_printk              scalar          memory size
trace_vprintk             scalar          memory size memory_or_null size_or_zero
skb_load_bytes            scalar          context scalar memory_out size
skb_load_bytes_relative   scalar          context scalar memory_out size scalar
skb_store_bytes           scalar          context scalar memory size scalar
skb_pull_data             scalar          context scalar
xdp_get_buff_len          scalar          context
xdp_load_bytes            scalar          context scalar memory_out size
xdp_store_bytes           scalar          context scalar memory size
xdp_adjust_head           scalar          context scalar
xdp_adjust_tail           scalar          context scalar
"""
"""Name, result, arguments."""

_EVENTS = frozenset({
    programs.KPROBE, programs.TRACEPOINT, programs.PERF_EVENT, programs.RAW_TRACEPOINT, programs.TRACING,
    programs.SYSCALL, programs.PROBE,
})  # fmt: skip
_XDP = frozenset({programs.XDP})
_SKB = frozenset({programs.SOCKET_FILTER, programs.SCHED_CLS})
_CLASSIFIER = frozenset({programs.SCHED_CLS})

_FIRED = (_EVENTS | _XDP | _SKB) - {programs.SYSCALL}

_CALLERS = {
    "fetch_variables": _EVENTS - {programs.SYSCALL},
    "open_file": _EVENTS - {programs.SYSCALL},
    "path_text": _EVENTS - {programs.SYSCALL},
    "cpu_time": _EVENTS - {programs.SYSCALL},
    "firing_cpu": _FIRED,
    "firing_parent": _FIRED,
    "firing_image": _FIRED,
    "firing_missed": _FIRED,
    "firing_packet": _FIRED,
    "inject_result": _EVENTS - {programs.SYSCALL},
    "delay_task": _EVENTS - {programs.SYSCALL},
    "packet_length": _SKB | _XDP,
    "packet_cookie": _SKB | _XDP,
    "probe_read": _EVENTS,
    "probe_read_str": _EVENTS,
    "get_stack": _EVENTS,
    "get_stackid": _EVENTS,
    "get_func_ip": frozenset({programs.KPROBE}),
    "get_attach_cookie": _EVENTS - {programs.SYSCALL},
    "perf_prog_read_value": frozenset({programs.PERF_EVENT}),
    "read_branch_records": frozenset({programs.PERF_EVENT}),
    "ktime_get_coarse_ns": _SKB | _XDP,
    "skb_load_bytes": _SKB,
    "skb_load_bytes_relative": _SKB,
    "skb_store_bytes": _CLASSIFIER,
    "skb_pull_data": _CLASSIFIER,
    "xdp_get_buff_len": _XDP,
    "xdp_load_bytes": _XDP,
    "xdp_store_bytes": _XDP,
    "xdp_adjust_head": _XDP,
    "xdp_adjust_tail": _XDP,
}
"""The program types that may call a helper which not all may call."""

_TABLES = frozenset({
    maps.HASH, maps.ARRAY, maps.PERCPU_HASH, maps.PERCPU_ARRAY, maps.LRU_HASH, maps.LRU_PERCPU_HASH,
})  # fmt: skip
_QUEUES = frozenset({maps.QUEUE, maps.STACK})
_RINGS = frozenset({maps.RINGBUF})
_EVENT_ARRAYS = frozenset({maps.PERF_EVENT_ARRAY})

_MAPS = {
    "map_lookup_elem": _TABLES | {maps.LPM_TRIE} | maps.MAPS_OF_MAPS,
    "map_update_elem": _TABLES | {maps.LPM_TRIE},
    "map_delete_elem": _TABLES | {maps.LPM_TRIE},
    "map_push_elem": _QUEUES,
    "map_pop_elem": _QUEUES,
    "map_peek_elem": _QUEUES,
    "map_lookup_percpu_elem": maps.PER_CPU,
    "for_each_map_elem": _TABLES,
    "task_storage_get": frozenset({maps.TASK_STORAGE}),
    "task_storage_delete": frozenset({maps.TASK_STORAGE}),
    "ringbuf_output": _RINGS,
    "ringbuf_reserve": _RINGS,
    "ringbuf_query": _RINGS,
    "perf_event_output": _EVENT_ARRAYS,
    "perf_event_reserve": _EVENT_ARRAYS,
    "perf_event_read": _EVENT_ARRAYS,
    "perf_event_read_value": _EVENT_ARRAYS,
    "get_stackid": frozenset({maps.STACK_TRACE}),
    "tail_call": frozenset({maps.PROG_ARRAY}),
}

_WRITES_MAP = frozenset({"map_update_elem", "map_delete_elem", "map_push_elem", "map_pop_elem"})
_MOVES_PACKET = frozenset({"skb_store_bytes", "skb_pull_data", "xdp_adjust_head", "xdp_adjust_tail"})
_PACKET_ACCESS = frozenset({
    "map_lookup_elem", "map_update_elem", "map_delete_elem", "map_push_elem", "map_lookup_percpu_elem",
})  # fmt: skip
_SLEEPS = frozenset({"copy_from_user", "copy_from_user_task"})


def _signature(name: str, result: str, *arguments: str) -> Signature:
    return Signature(
        name, NUMBERS[name], arguments, result, _CALLERS.get(name), _MAPS.get(name, frozenset()),
        name in _WRITES_MAP, name in _MOVES_PACKET, name in _PACKET_ACCESS, name in _SLEEPS,
    )  # fmt: skip


SIGNATURES: dict[int, Signature] = {
    signature.number: signature for signature in (_signature(*line.split()) for line in lines(_TABLE.strip()))
}
"""Signatures by the helper's number; a helper that is not here cannot be called."""


def may_call(signature: Signature, kind: int) -> bool:
    """Whether programs of type `kind` (enum bpf_prog_type) may call the helper."""
    return signature.programs is None or kind in signature.programs
