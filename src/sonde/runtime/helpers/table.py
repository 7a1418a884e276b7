"""Which helpers the engine has, and where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module

from sonde.bpf.helpers import NUMBERS, is_poison, name_of
from sonde.model.errors import EngineError
from sonde.runtime.environment import Environment
from sonde.typed import Any, TypeAlias

Helpers: TypeAlias = dict[int, Callable[..., Any]]
"""By number. Each takes exactly the helper's arguments, as u64, and returns an int of any sign."""

SUBJECTS = {
    "map_access": (
        "map_lookup_elem map_update_elem map_delete_elem map_lookup_percpu_elem map_push_elem map_pop_elem "
        "map_peek_elem task_storage_get task_storage_delete"
    ),
    "probe_read": (
        "probe_read probe_read_str probe_read_user probe_read_user_str probe_read_kernel probe_read_kernel_str "
        "probe_write_user copy_from_user copy_from_user_task"
    ),
    "rings": "ringbuf_output ringbuf_reserve ringbuf_submit ringbuf_discard ringbuf_query",
    "tasks": (
        "get_current_pid_tgid get_current_uid_gid get_current_comm get_current_task get_current_task_btf task_pt_regs "
        "get_ns_current_pid_tgid get_smp_processor_id get_numa_node_id get_attach_cookie get_prandom_u32 send_signal "
        "send_signal_thread get_current_cgroup_id"
    ),
    "time": "ktime_get_ns ktime_get_boot_ns ktime_get_coarse_ns ktime_get_tai_ns jiffies64",
    "loops": "loop for_each_map_elem",
    "stacks": "get_stack get_stackid get_task_stack",
    "output": ("perf_event_output skb_output xdp_output read_branch_records perf_event_reserve perf_event_commit"),
    "tail_call": "tail_call",
    "variables": "fetch_variables",
    "probe_name": "probe_name",
    "files": "open_file path_text",
    "cpu_time": "cpu_time",
    "firings": "firing_cpu firing_parent firing_image firing_missed firing_packet",
    "interventions": "inject_result delay_task",
    "trace_printk": "trace_printk trace_vprintk",
    "strings": "strtol strtoul strncmp snprintf",
    "packet_bytes": "skb_load_bytes xdp_get_buff_len xdp_load_bytes packet_length packet_cookie",
}
"""The helpers of each file of this package."""

_FIRST_IS_MAP = (
    "map_lookup_elem", "map_update_elem", "map_delete_elem", "map_push_elem", "map_pop_elem", "map_peek_elem",
    "task_storage_get", "task_storage_delete", "ringbuf_reserve", "ringbuf_output", "ringbuf_query",
)  # fmt: skip

_SUBJECT_OF = {NUMBERS[name]: subject for subject, names in SUBJECTS.items() for name in names.split()}

SUPPORTED = frozenset(_SUBJECT_OF)
"""The numbers of all helpers there are."""


def make_helpers(numbers: Iterable[int], environment: Environment) -> Helpers:
    """The helpers with these numbers, and maybe others. Raises EngineError for one that there is not."""
    made: Helpers = {}
    for number in numbers:
        if number in made or is_poison(number):
            # The verifier has proved that nothing comes to a call of one that there cannot be.
            continue
        subject = _SUBJECT_OF.get(number)
        if subject is None:
            raise EngineError(f"the embedded engine has no helper {name_of(number)}; run as root with --engine kernel")
        make = import_module(f"sonde.runtime.helpers.{subject}").make
        made.update((NUMBERS[name], function) for name, function in make(environment).items())
    return made


def helpers_by_map(environment: Environment) -> dict[int, dict[int, Callable[..., int]]]:
    """For helpers whose first argument is a map: by their numbers and the map's handle what to call without it."""
    calls = environment.table.calls
    return {NUMBERS[name]: calls(name) for name in _FIRST_IS_MAP}
