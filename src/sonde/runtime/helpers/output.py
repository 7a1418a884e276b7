"""Records into perf rings (bpf_perf_event_output in kernel/trace/bpf_trace.c, and net/core/filter.c for packets)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from errno import EINVAL, ENOENT

from sonde.arch import registers
from sonde.bpf import programs
from sonde.bpf.helpers import DISCARD_SLOT
from sonde.formats.perf_events import MISC_KERNEL, MISC_USER
from sonde.machine.system import monotonic_ns
from sonde.runtime.environment import Environment
from sonde.runtime.machine.memory import OFFSET_BITS, OFFSET_MASK, AccessError
from sonde.runtime.maps.object_array import ObjectArray
from sonde.runtime.perf.output import perf_event_output as write
from sonde.runtime.perf.output import reserve
from sonde.runtime.perf.sample import Sample

_ONLY_THEIR_SIZE = 1
"""BPF_F_GET_BRANCH_RECORDS_SIZE."""

_WORD = struct.Struct("=Q")


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    maps, view = environment.table.maps, environment.memory.view

    def sample() -> Sample:
        task = environment.task
        time = environment.now or monotonic_ns()
        values = {"pid": task.pid, "tid": task.tid, "time": time}
        if not task.registers:
            return Sample(values)
        taken = environment.memory.read(task.registers, registers.SIZE)
        (values["ip"],) = _WORD.unpack_from(taken, registers.PROGRAM_COUNTER)
        (mode,) = _WORD.unpack_from(taken, registers.MODE)
        # A program that handles an overflow speaks of what was interrupted, any other of the kernel that runs it.
        in_process = environment.kind == programs.PERF_EVENT and mode & registers.MODE_BITS != registers.KERNEL_MODE
        return Sample(values, misc=MISC_USER if in_process else MISC_KERNEL, registers=taken)

    def perf_event_output(context: int, handle: int, flags: int, data: int, size: int) -> int:
        events = maps[handle]
        assert isinstance(events, ObjectArray)
        record = view(data, size & 0xFFFF_FFFF)
        return write(events.elements, flags, record, environment.packet, sample)

    rings = environment.perf_rings

    def perf_event_reserve(handle: int, size: int, flags: int) -> int:
        events = maps[handle]
        assert isinstance(events, ObjectArray)
        found = reserve(events.elements, size, flags, sample)
        if found is None:
            return 0
        ring, at = found
        if not ring.address:
            ring.address = environment.memory.add(ring.direct)
            rings[ring.address >> OFFSET_BITS] = ring
        return ring.address + at

    def perf_event_commit(slot: int, flags: int) -> int:
        ring = rings.get(slot >> OFFSET_BITS)
        if ring is None or not ring.commit(slot & OFFSET_MASK, bool(flags & DISCARD_SLOT)):
            raise AccessError(slot, 0)
        return 0

    return {
        "perf_event_reserve": perf_event_reserve,
        "perf_event_commit": perf_event_commit,
        "perf_event_output": perf_event_output,
        "skb_output": perf_event_output,
        "xdp_output": perf_event_output,
        "read_branch_records": _read_branch_records,
    }


def _read_branch_records(context: int, buffer: int, size: int, flags: int) -> int:
    """The events there are, clocks, have no records of branches."""
    return -EINVAL if flags & ~_ONLY_THEIR_SIZE else -ENOENT
