"""Records into perf rings (bpf_perf_event_output in kernel/trace/bpf_trace.c, and net/core/filter.c for packets)."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns

from sonde.engines.embedded.environment import Environment
from sonde.engines.embedded.maps.object_array import ObjectArray
from sonde.engines.embedded.perf.output import perf_event_output as write
from sonde.engines.embedded.perf.sample import Sample

_REGISTERS = 168
"""sizeof(struct pt_regs) on x86-64."""


def make(environment: Environment) -> dict[str, Callable[..., int]]:
    maps, view = environment.table.maps, environment.memory.view

    def sample() -> Sample:
        task = environment.task
        time = environment.now or monotonic_ns()
        registers = environment.memory.read(task.registers, _REGISTERS) if task.registers else b""
        return Sample({"pid": task.pid, "tid": task.tid, "time": time}, registers=registers)

    def perf_event_output(context: int, handle: int, flags: int, data: int, size: int) -> int:
        events = maps[handle]
        assert isinstance(events, ObjectArray)
        record = view(data, size & 0xFFFF_FFFF)
        return write(events.elements, flags, record, environment.packet, sample)

    return {"perf_event_output": perf_event_output, "skb_output": perf_event_output, "xdp_output": perf_event_output}
