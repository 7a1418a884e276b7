"""What of BPF only observes: program types, helpers, functions of the kernel and maps by which a program changes
nothing but what is its own. Whatever is not listed here may change the system.

The sources are the prototypes and is_valid_access functions of kernel/bpf, kernel/trace/bpf_trace.c and
net/core/filter.c of Linux 6.18. Where a program's result decides something, `HARMLESS_RESULTS` has the one that leaves
things as they would be without it.
"""

from __future__ import annotations

from sonde.bpf import maps, programs
from sonde.bpf.helpers import NAMES, NUMBERS, OWN

_TRACE_ATTACH_TYPES = (programs.TRACE_RAW_TP, programs.TRACE_FENTRY, programs.TRACE_FEXIT, programs.TRACE_ITER)
"""Of programs of the type TRACING; an iterator's result only says whether it is to be called again. MODIFY_RETURN is
not among them: its result becomes the function's."""

KINDS: dict[int, tuple[int, ...] | None] = {
    programs.SOCKET_FILTER: None, programs.KPROBE: None, programs.SCHED_CLS: None, programs.TRACEPOINT: None,
    programs.XDP: None, programs.PERF_EVENT: None, programs.RAW_TRACEPOINT: None,
    programs.TRACING: _TRACE_ATTACH_TYPES, programs.PROBE: None,
}  # fmt: skip
"""Program types that can observe, and the attach types with which they do, None: any.

The filter of a packet socket decides only what that socket keeps, and sonde attaches it to sockets of its own. Not
here: programs of cgroups, sockets, LSM, freplace, struct_ops, netfilter and all else whose result decides.
"""

HARMLESS_RESULTS = {programs.SCHED_CLS: (-1, "TCX_NEXT"), programs.XDP: (2, "XDP_PASS")}
"""The result by which a packet goes on as without the program, and its name. TCX_PASS keeps other programs from it."""

WRITABLE_CONTEXTS = frozenset((*programs.FOR_PACKETS, programs.KPROBE))
"""Types that may write to their context or to packets: a uprobe's program sets registers (Linux 6.18)."""

_OBSERVING = """
map_lookup_elem map_update_elem map_delete_elem map_push_elem map_pop_elem map_peek_elem map_lookup_percpu_elem
for_each_map_elem tail_call loop strncmp strtol strtoul snprintf snprintf_btf kptr_xchg spin_lock spin_unlock
timer_init timer_set_callback timer_start timer_cancel get_local_storage
probe_read probe_read_str probe_read_user probe_read_kernel probe_read_user_str probe_read_kernel_str copy_from_user
copy_from_user_task d_path find_vma per_cpu_ptr this_cpu_ptr
ktime_get_ns ktime_get_boot_ns ktime_get_coarse_ns ktime_get_tai_ns jiffies64 get_prandom_u32
get_smp_processor_id get_numa_node_id
get_current_pid_tgid get_current_uid_gid get_current_comm get_current_task get_current_task_btf
get_ns_current_pid_tgid get_cgroup_classid get_current_cgroup_id get_current_ancestor_cgroup_id
current_task_under_cgroup task_pt_regs get_stackid get_stack get_task_stack get_func_ip get_attach_cookie
get_func_arg get_func_ret get_func_arg_cnt get_retval read_branch_records get_branch_snapshot
task_storage_get task_storage_delete inode_storage_get inode_storage_delete sk_storage_get sk_storage_delete
cgrp_storage_get cgrp_storage_delete
perf_event_read perf_event_read_value perf_prog_read_value perf_event_output skb_output xdp_output trace_printk
trace_vprintk seq_printf seq_write seq_printf_btf ringbuf_output ringbuf_reserve ringbuf_submit ringbuf_discard
ringbuf_query ringbuf_reserve_dynptr ringbuf_submit_dynptr ringbuf_discard_dynptr user_ringbuf_drain
dynptr_from_mem dynptr_read dynptr_write dynptr_data ima_inode_hash ima_file_hash sock_from_file
csum_diff skb_load_bytes skb_load_bytes_relative xdp_load_bytes xdp_get_buff_len get_route_realm skb_get_tunnel_key
skb_get_tunnel_opt skb_get_xfrm_state skb_under_cgroup skb_cgroup_id skb_ancestor_cgroup_id skb_cgroup_classid
get_socket_cookie get_socket_uid get_netns_cookie fib_lookup check_mtu sk_fullsock tcp_sock get_listener_sock
sk_lookup_tcp sk_lookup_udp skc_lookup_tcp sk_release tcp_check_syncookie sk_cgroup_id sk_ancestor_cgroup_id
skc_to_tcp6_sock skc_to_tcp_sock skc_to_tcp_timewait_sock skc_to_tcp_request_sock skc_to_udp6_sock skc_to_unix_sock
skc_to_mptcp_sock load_hdr_opt getsockopt sysctl_get_name sysctl_get_current_value sysctl_get_new_value
tcp_raw_check_syncookie_ipv4 tcp_raw_check_syncookie_ipv6
"""

HELPERS = frozenset(NUMBERS[name] for name in _OBSERVING.split()) | OWN
"""Helpers by number: they read, compute, or write to maps, rings and memory of the program's own."""

CHANGING = frozenset(range(1, len(NAMES))) - HELPERS
"""All others that there are."""

READS_MEMORY = frozenset(
    NUMBERS[name]
    for name in (
        "map_lookup_elem", "map_update_elem", "map_delete_elem", "map_push_elem", "map_lookup_percpu_elem", "csum_diff",
        "perf_event_output", "ringbuf_output", "trace_printk", "trace_vprintk", "strncmp",
    )
)  # fmt: skip
"""Helpers that only read the memory they are given, which may be a packet's."""

_FUNCTIONS = """
bpf_rcu_read_lock bpf_rcu_read_unlock bpf_preempt_disable bpf_preempt_enable bpf_cast_to_kern_ctx bpf_rdonly_cast
bpf_task_acquire bpf_task_release bpf_task_from_pid bpf_task_from_vpid bpf_task_get_cgroup1 bpf_task_under_cgroup
bpf_cgroup_acquire bpf_cgroup_release bpf_cgroup_ancestor bpf_cgroup_from_id
bpf_iter_num_new bpf_iter_num_next bpf_iter_num_destroy bpf_iter_task_new bpf_iter_task_next bpf_iter_task_destroy
bpf_iter_task_vma_new bpf_iter_task_vma_next bpf_iter_task_vma_destroy bpf_iter_css_new bpf_iter_css_next
bpf_iter_css_destroy bpf_iter_bits_new bpf_iter_bits_next bpf_iter_bits_destroy
bpf_copy_from_user_str bpf_copy_from_user_task_str bpf_probe_read_user_dynptr bpf_probe_read_kernel_dynptr
bpf_probe_read_user_str_dynptr bpf_probe_read_kernel_str_dynptr bpf_copy_from_user_dynptr
bpf_copy_from_user_str_dynptr bpf_dynptr_size bpf_dynptr_is_null bpf_dynptr_is_rdonly bpf_dynptr_adjust
bpf_dynptr_clone bpf_session_cookie bpf_session_is_return bpf_get_kmem_cache bpf_get_task_exe_file bpf_put_file
bpf_path_d_path bpf_strcmp bpf_strchr bpf_strchrnul bpf_strrchr bpf_strlen bpf_strnlen bpf_strspn bpf_strcspn
bpf_strstr bpf_strnstr bpf_task_work_schedule_signal_impl bpf_task_work_schedule_resume_impl
bpf_task_work_schedule_signal bpf_task_work_schedule_resume
"""
FUNCTIONS = frozenset(_FUNCTIONS.split())
"""Functions of the kernel (kfuncs), by name."""

MAPS = frozenset((
    maps.HASH, maps.ARRAY, maps.PROG_ARRAY, maps.PERF_EVENT_ARRAY, maps.PERCPU_HASH, maps.PERCPU_ARRAY,
    maps.STACK_TRACE, maps.LRU_HASH, maps.LRU_PERCPU_HASH, maps.LPM_TRIE, maps.ARRAY_OF_MAPS, maps.HASH_OF_MAPS,
    maps.QUEUE, maps.STACK, maps.RINGBUF, maps.TASK_STORAGE, maps.USER_RINGBUF,
    *map(maps.NAMES.index, (
        "cgroup_array", "sk_storage", "inode_storage", "bloom_filter", "cgrp_storage", "arena",
    )),
))  # fmt: skip
"""Map types that only hold data. Others take part in networking, or, as struct_ops, in the kernel itself."""
