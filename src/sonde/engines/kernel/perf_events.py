"""Perf events that fire programs (struct perf_event_attr, include/uapi/linux/perf_event.h).

Closing the event of a trace event waits for a grace period, 70 to 170 ms; `close_all` does many at a time.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Sequence

from sonde.engines.kernel.syscalls import address_of, perf_event_open

TYPE_HARDWARE, TYPE_SOFTWARE, TYPE_TRACEPOINT = range(3)
SOFTWARE_CPU_CLOCK = HARDWARE_CPU_CYCLES = 0

FLAG_CLOSE_ON_EXEC = 8
ATTRIBUTES_SIZE = 112
"""PERF_ATTR_SIZE_VER5, which every kernel with BPF on perf events knows."""

_UPROBE = "/sys/bus/event_source/devices/uprobe"
_RETURN = 1 << 0
"""In `config`, where `format/retprobe` of the event source says."""

_DISABLED = 1 << 0
_IOC_ENABLE, _IOC_SET_BPF = 0x2400, 0x40042408

_CLOSERS = 32
"""Threads that close at a time: they only wait, and grace periods are shared."""


def _open(kind: int, config: int, period: int, cpu: int) -> int:
    attributes = bytearray(ATTRIBUTES_SIZE)
    struct.pack_into("=IIQQQQQ", attributes, 0, kind, ATTRIBUTES_SIZE, config, period, 0, 0, _DISABLED)
    return perf_event_open(attributes, -1, cpu, -1, FLAG_CLOSE_ON_EXEC)


def open_clock(period: int, cpu: int) -> int:
    """A cpu-clock event every `period` ns on `cpu`, not yet enabled. The kernel fires at most every 10 us."""
    return _open(TYPE_SOFTWARE, SOFTWARE_CPU_CLOCK, period, cpu)


def open_cycles(cpu: int) -> int:
    """A counter of processor cycles on `cpu`, not yet enabled."""
    return _open(TYPE_HARDWARE, HARDWARE_CPU_CYCLES, 0, cpu)


def open_trace_event(event_id: int, cpu: int) -> int:
    """An event for the hits of a trace event, not yet enabled; its program runs on every CPU, not only `cpu`.

    It takes no samples, since some events may only be counted (TRACE_EVENT_PERF_PERM, include/linux/trace_events.h).
    """
    return _open(TYPE_TRACEPOINT, event_id, 0, cpu)


def open_uprobe(path: str, offset: int, is_return: bool, pid: int) -> int:
    """An event for an instruction of a file, by file offset, in the memory of process `pid`, not yet enabled: its
    program runs for every thread of that. Never inherited: fork(2) would fail in the process."""
    with open(f"{_UPROBE}/type", encoding="ascii") as file:
        kind = int(file.read())
    name = bytearray(os.fsencode(path) + b"\0")
    attributes = bytearray(ATTRIBUTES_SIZE)
    struct.pack_into("=IIQ", attributes, 0, kind, ATTRIBUTES_SIZE, _RETURN if is_return else 0)
    struct.pack_into("=Q", attributes, 40, _DISABLED)
    struct.pack_into("=QQ", attributes, 56, address_of(name), offset)
    return perf_event_open(attributes, pid, -1, -1, FLAG_CLOSE_ON_EXEC)


def set_program(event: int, program: int) -> None:
    """Attach a program the way that has no cookie; it stays until the event is closed."""
    fcntl.ioctl(event, _IOC_SET_BPF, program)


def enable(event: int) -> None:
    fcntl.ioctl(event, _IOC_ENABLE, 0)


def close_all(descriptors: Sequence[int]) -> None:
    """Close descriptors whose closing waits: in threads if there are several."""
    if len(descriptors) < 2:
        for descriptor in descriptors:
            os.close(descriptor)
        return
    from threading import Thread  # an import that most runs do without

    waiting = list(descriptors)

    def work() -> None:
        while True:
            try:
                descriptor = waiting.pop()
            except IndexError:
                return
            os.close(descriptor)

    threads = [Thread(target=work) for _ in range(min(_CLOSERS, len(descriptors)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
