"""BPF helper functions: numbers by name and names by number (__BPF_FUNC_MAPPER, include/uapi/linux/bpf.h).

The list is closed: since Linux 6.2 what is new is a kfunc.
"""

from __future__ import annotations

MAX_ERRNO = 4095
"""The largest error number (include/linux/err.h): from its negative on, what helpers and system calls return is one."""

RESTARTING = range(512, 517)
"""The kernel's words for a call that a signal has interrupted, from ERESTARTSYS to ERESTART_RESTARTBLOCK
(include/linux/errno.h), of which the kernel makes EINTR, or makes the call again, behind the return's probe."""

_NAMES = """
unspec map_lookup_elem map_update_elem map_delete_elem probe_read ktime_get_ns trace_printk get_prandom_u32
get_smp_processor_id skb_store_bytes l3_csum_replace l4_csum_replace tail_call clone_redirect get_current_pid_tgid
get_current_uid_gid get_current_comm get_cgroup_classid skb_vlan_push skb_vlan_pop skb_get_tunnel_key
skb_set_tunnel_key perf_event_read redirect get_route_realm perf_event_output skb_load_bytes get_stackid csum_diff
skb_get_tunnel_opt skb_set_tunnel_opt skb_change_proto skb_change_type skb_under_cgroup get_hash_recalc
get_current_task probe_write_user current_task_under_cgroup skb_change_tail skb_pull_data csum_update
set_hash_invalid get_numa_node_id skb_change_head xdp_adjust_head probe_read_str get_socket_cookie get_socket_uid
set_hash setsockopt skb_adjust_room redirect_map sk_redirect_map sock_map_update xdp_adjust_meta
perf_event_read_value perf_prog_read_value getsockopt override_return sock_ops_cb_flags_set msg_redirect_map
msg_apply_bytes msg_cork_bytes msg_pull_data bind xdp_adjust_tail skb_get_xfrm_state get_stack
skb_load_bytes_relative fib_lookup sock_hash_update msg_redirect_hash sk_redirect_hash lwt_push_encap
lwt_seg6_store_bytes lwt_seg6_adjust_srh lwt_seg6_action rc_repeat rc_keydown skb_cgroup_id get_current_cgroup_id
get_local_storage sk_select_reuseport skb_ancestor_cgroup_id sk_lookup_tcp sk_lookup_udp sk_release map_push_elem
map_pop_elem map_peek_elem msg_push_data msg_pop_data rc_pointer_rel spin_lock spin_unlock sk_fullsock tcp_sock
skb_ecn_set_ce get_listener_sock skc_lookup_tcp tcp_check_syncookie sysctl_get_name sysctl_get_current_value
sysctl_get_new_value sysctl_set_new_value strtol strtoul sk_storage_get sk_storage_delete send_signal
tcp_gen_syncookie skb_output probe_read_user probe_read_kernel probe_read_user_str probe_read_kernel_str
tcp_send_ack send_signal_thread jiffies64 read_branch_records get_ns_current_pid_tgid xdp_output get_netns_cookie
get_current_ancestor_cgroup_id sk_assign ktime_get_boot_ns seq_printf seq_write sk_cgroup_id sk_ancestor_cgroup_id
ringbuf_output ringbuf_reserve ringbuf_submit ringbuf_discard ringbuf_query csum_level skc_to_tcp6_sock
skc_to_tcp_sock skc_to_tcp_timewait_sock skc_to_tcp_request_sock skc_to_udp6_sock get_task_stack load_hdr_opt
store_hdr_opt reserve_hdr_opt inode_storage_get inode_storage_delete d_path copy_from_user snprintf_btf
seq_printf_btf skb_cgroup_classid redirect_neigh per_cpu_ptr this_cpu_ptr redirect_peer task_storage_get
task_storage_delete get_current_task_btf bprm_opts_set ktime_get_coarse_ns ima_inode_hash sock_from_file check_mtu
for_each_map_elem snprintf sys_bpf btf_find_by_name_kind sys_close timer_init timer_set_callback timer_start
timer_cancel get_func_ip get_attach_cookie task_pt_regs get_branch_snapshot trace_vprintk skc_to_unix_sock
kallsyms_lookup_name find_vma loop strncmp get_func_arg get_func_ret get_func_arg_cnt get_retval set_retval
xdp_get_buff_len xdp_load_bytes xdp_store_bytes copy_from_user_task skb_set_tstamp ima_file_hash kptr_xchg
map_lookup_percpu_elem skc_to_mptcp_sock dynptr_from_mem ringbuf_reserve_dynptr ringbuf_submit_dynptr
ringbuf_discard_dynptr dynptr_read dynptr_write dynptr_data tcp_raw_gen_syncookie_ipv4 tcp_raw_gen_syncookie_ipv6
tcp_raw_check_syncookie_ipv4 tcp_raw_check_syncookie_ipv6 ktime_get_tai_ns user_ringbuf_drain cgrp_storage_get
cgrp_storage_delete
"""

NAMES: tuple[str, ...] = tuple(_NAMES.split())
"""Names without `bpf_`; a helper's number is its index."""

NUMBERS: dict[str, int] = {name: number for number, name in enumerate(NAMES)}
"""Number by name without `bpf_`."""


FETCH_VARIABLES = 1 << 16
"""A helper that only the embedded engine has, beyond the kernel's: long bpf_fetch_variables(ctx, buffer, size) fetches
the variables of the probe that fires (`spec.Fetch`) into the buffer. 0, or -errno of the first one that cannot be had;
that one's bytes, and all that belong to none, are zeros then."""

OPEN_FILE, PATH_TEXT, CPU_TIME, PACKET_LENGTH = range(FETCH_VARIABLES + 1, FETCH_VARIABLES + 5)
"""More of these. struct file *bpf_open_file(int fd): the current thread's open file, 0 where there is none.
long bpf_path_text(buffer, size, struct path *): the path as text, cut off where it is longer, as
bpf_probe_read_kernel_str gives one. s64 bpf_cpu_time(): ns that the current thread has run since tracing began.
Each -errno for what cannot be told. u32 bpf_packet_length(ctx): the bytes of the packet, of which the file that it
comes from may have only the first."""

PERF_EVENT_RESERVE, PERF_EVENT_COMMIT = range(FETCH_VARIABLES + 5, FETCH_VARIABLES + 7)
"""Two more. void *bpf_perf_event_reserve(map, size, flags): `size` bytes of raw data in a sample that stands in the
ring of the event which the flags name, as those of bpf_perf_event_output do; 0 if there is no room, which is counted.
void bpf_perf_event_commit(data, flags): the sample is there to be read; with DISCARD_SLOT readers pass over it."""

DISCARD_SLOT = 1

PROBE_NAME = FETCH_VARIABLES + 7
"""Another. long bpf_probe_name(void *context, char *buffer, u32 size): what fired, as text, cut off where it is longer;
its length with the NUL."""

FIRING_CPU, FIRING_PARENT, FIRING_IMAGE = range(FETCH_VARIABLES + 8, FETCH_VARIABLES + 11)
"""Of firings that were recorded. u32 bpf_firing_cpu(): the CPU they happened on. s64 bpf_firing_parent(): the parent of
the process, -errno where the recording does not hold it. u64 bpf_firing_image(): the process, and in the upper half the
mark of what it executes (`symbols/images.py`), 0 if that is not told."""

FIRING_MISSED = FETCH_VARIABLES + 13
"""Another of these. u32 bpf_firing_missed(u64 value): whether the recording does not hold what a program has asked of
this firing in vain, by the value of the fault."""

FIRING_PACKET = FETCH_VARIABLES + 14
"""u32 bpf_firing_packet(u32 size): of so many bytes of the firing's packet those that the recording holds."""

PACKET_COOKIE = FETCH_VARIABLES + 15
"""u64 bpf_packet_cookie(ctx): what bpf_get_attach_cookie is to other programs, of that for a packet."""

INJECT_RESULT, DELAY_TASK = range(FETCH_VARIABLES + 11, FETCH_VARIABLES + 13)
"""Two that act on the thread that fires the program, which must be held. long bpf_inject_result(s64 result): the system
call that it enters is not made, or the one that it leaves has returned that. long bpf_delay_task(u64 ns): it goes on so
much later than it would. 0, or -EBUSY for a thread that is not held."""

_OWN = {
    "fetch_variables": FETCH_VARIABLES, "open_file": OPEN_FILE, "path_text": PATH_TEXT, "cpu_time": CPU_TIME,
    "packet_length": PACKET_LENGTH, "perf_event_reserve": PERF_EVENT_RESERVE, "perf_event_commit": PERF_EVENT_COMMIT,
    "probe_name": PROBE_NAME, "firing_cpu": FIRING_CPU, "firing_parent": FIRING_PARENT,
    "firing_image": FIRING_IMAGE, "firing_missed": FIRING_MISSED, "firing_packet": FIRING_PACKET,
    "inject_result": INJECT_RESULT, "delay_task": DELAY_TASK, "packet_cookie": PACKET_COOKIE,
}  # fmt: skip
_OWN_NAMES = {number: name for name, number in _OWN.items()}

OWN = frozenset(_OWN_NAMES)
"""The numbers of helpers that only the embedded engine has."""

NUMBERS.update(_OWN)

POISON, _MOST_POISON = 0x0BAD0000, 1 << 16
"""A number that no helper has or will have, and behind it the number of what is missing: calls of it stand where code
depends on what the kernel has not. The verifier refuses a program that may come to one."""


def is_poison(number: int) -> bool:
    return POISON <= number < POISON + _MOST_POISON


def name_of(number: int) -> str:
    """The name of a helper as the kernel writes it, `bpf_map_lookup_elem`; `helper#N` where there is none."""
    if number in OWN:
        return f"bpf_{_OWN_NAMES[number]}"
    return f"bpf_{NAMES[number]}" if 0 < number < len(NAMES) else f"helper#{number}"
