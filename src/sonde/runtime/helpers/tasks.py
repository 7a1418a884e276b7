"""Who runs, where, and signals to it (kernel/bpf/helpers.c, kernel/trace/bpf_trace.c)."""

from __future__ import annotations

import os
from _random import Random
from collections.abc import Callable
from errno import EINVAL, EPERM
from struct import Struct

from sonde.bpf.helpers import NUMBERS
from sonde.machine import control_groups
from sonde.runtime.environment import Environment

_PIDS = Struct("=II")
_LAST_SIGNAL = 64
_MASK = 0xFFFF_FFFF
_RANDOM, _GROUP = NUMBERS["get_prandom_u32"], NUMBERS["get_current_cgroup_id"]


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    write = environment.memory.write

    def get_current_pid_tgid() -> int:
        task = environment.task
        return task.pid << 32 | task.tid

    def get_current_uid_gid() -> int:
        task = environment.task
        return task.gid << 32 | task.uid

    def get_current_comm(destination: int, size: int) -> int:
        size &= _MASK
        write(destination, environment.task.comm[: size - 1].ljust(size, b"\0"))
        return 0

    def get_current_task() -> int:
        return environment.task.address

    def task_pt_regs(task: int) -> int:
        return environment.task.registers

    def get_ns_current_pid_tgid(device: int, inode: int, destination: int, size: int) -> int:
        size &= _MASK
        if size != _PIDS.size or (device, inode) != environment.namespace:
            write(destination, bytes(size))
            return -EINVAL
        task = environment.task
        write(destination, _PIDS.pack(task.tid, task.pid))
        return 0

    def get_current_cgroup_id() -> int:
        source = environment.recorded
        if source is not None:
            return source.result(_GROUP) or 0

        found = control_groups.number_of(environment.task.tid)
        if environment.note_result is not None:
            environment.note_result(_GROUP, found)
        return found

    def zero() -> int:
        return 0

    def get_attach_cookie(context: int) -> int:
        return environment.cookie

    def send(number: int, thread: bool) -> int:
        task, number = environment.task, number & _MASK
        if task.pid == 1:
            return -EPERM
        if number > _LAST_SIGNAL:
            return -EINVAL
        return environment.send_signal(task, number, thread)

    return {
        "get_current_pid_tgid": get_current_pid_tgid,
        "get_current_uid_gid": get_current_uid_gid,
        "get_current_comm": get_current_comm,
        "get_current_task": get_current_task,
        "get_current_task_btf": get_current_task,
        "task_pt_regs": task_pt_regs,
        "get_ns_current_pid_tgid": get_ns_current_pid_tgid,
        "get_current_cgroup_id": get_current_cgroup_id,
        "get_smp_processor_id": zero,
        "get_numa_node_id": zero,
        "get_attach_cookie": get_attach_cookie,
        "get_prandom_u32": _random(environment),
        "send_signal": lambda number: send(number, False),
        "send_signal_thread": lambda number: send(number, True),
    }


def _random(environment: Environment) -> Callable[[], int]:
    """get_prandom_u32: the recorded number where there is one, else a new one, which is told where results are kept."""
    bits = Random(int.from_bytes(os.urandom(8), "little")).getrandbits
    note, source = environment.note_result, environment.recorded

    def drawn() -> int:
        number = bits(32)
        if note is not None:
            note(_RANDOM, number)
        return number

    def recorded() -> int:
        found = source.result(_RANDOM) if source is not None else None
        return drawn() if found is None else found

    return drawn if source is None else recorded
