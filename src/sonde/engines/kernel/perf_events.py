"""Perf events that fire programs (struct perf_event_attr, include/uapi/linux/perf_event.h).

Closing the event of a trace event waits for a grace period, 70 to 170 ms; `close_all` does many at a time,
`detaching.py` where sonde itself may not wait for that.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from collections.abc import Callable, Iterable, Sequence
from time import CLOCK_MONOTONIC

from sonde.engines.kernel.syscalls import address_of, perf_event_open
from sonde.formats.perf_events import (
    ATTRIBUTES_SIZE,
    FORMAT_LOST,
    SAMPLE_RAW,
    SAMPLE_TIME,
    SOFTWARE_BPF_OUTPUT,
    SOFTWARE_DUMMY,
)
from sonde.machine.system import online_cpus
from sonde.typed import NamedTuple
from sonde.untrusted import read_kernel

TYPE_HARDWARE, TYPE_SOFTWARE, TYPE_TRACEPOINT = range(3)
TYPE_BREAKPOINT = 5
SOFTWARE_CPU_CLOCK = HARDWARE_CPU_CYCLES = 0

FLAG_CLOSE_ON_EXEC = 8

_UPROBE = "/sys/bus/event_source/devices/uprobe"
_KPROBE = "/sys/bus/event_source/devices/kprobe"
_RETURN = 1 << 0
"""In `config`, where `format/retprobe` of both event sources says."""
_SEMAPHORE = 32
"""Where in `config` the 32 bits of `format/ref_ctr_offset` begin."""

_DISABLED, _INHERIT, _EXCLUDE_USER, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 0, 1 << 1, 1 << 4, 1 << 5, 1 << 6
_MMAP, _COMM, _TASK, _WATERMARK, _SAMPLE_ID_ALL = 1 << 8, 1 << 9, 1 << 13, 1 << 14, 1 << 18
_MMAP2, _COMM_EXEC, _USE_CLOCKID = 1 << 23, 1 << 24, 1 << 25
_SIDE_BAND = _MMAP | _COMM | _TASK | _MMAP2 | _COMM_EXEC
_READ_FORMAT, _BREAKPOINT, _CONFIG1, _CLOCKID = 32, 52, 56, 92
"""Offsets of attr.read_format, of what a breakpoint watches for, of config1, where it has its address, and clockid."""

_IOC_ENABLE, _IOC_DISABLE, _IOC_SET_OUTPUT, _IOC_ID, _IOC_SET_BPF = 0x2400, 0x2401, 0x2405, 0x80082407, 0x40042408
_IOC_PERIOD = 0x40082404

_CLOSERS = 32
"""Threads that close at a time: they only wait, and grace periods are shared."""


def _open(kind: int, config: int, period: int, cpu: int) -> int:
    attributes = bytearray(ATTRIBUTES_SIZE)
    struct.pack_into("=IIQQQQQ", attributes, 0, kind, ATTRIBUTES_SIZE, config, period, 0, 0, _DISABLED)
    return perf_event_open(attributes, -1, cpu, -1, FLAG_CLOSE_ON_EXEC)


class Opening(NamedTuple):
    """What an event that has overflows is opened with: what it counts, and its `period`; `config` are attr.config,
    config1 and config2, of a breakpoint what it watches for, the address and the length. `samples`: its samples are to
    be read, with the fields of `sample_type`. `inherits`: what a task of the event starts has it, too. `no_user` and
    `no_kernel`: what happens there is not counted."""

    type: int
    config: tuple[int, int, int]
    period: int
    sample_type: int = 0
    samples: bool = False
    inherits: bool = False
    no_user: bool = False
    no_kernel: bool = False


def clock(period: int) -> Opening:
    """A cpu-clock event every `period` ns. The kernel fires at most every 10 us."""
    return Opening(TYPE_SOFTWARE, (SOFTWARE_CPU_CLOCK, 0, 0), period)


def attributes(opening: Opening) -> bytearray:
    """The struct perf_event_attr."""
    flags = _DISABLED | (_INHERIT if opening.inherits else 0) | (_EXCLUDE_USER if opening.no_user else 0)
    flags |= _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR if opening.no_kernel else 0
    is_timed = opening.samples or opening.sample_type & SAMPLE_TIME
    flags |= (_SAMPLE_ID_ALL if opening.samples else 0) | (_USE_CLOCKID if is_timed else 0)
    made = bytearray(ATTRIBUTES_SIZE)
    watches = opening.type == TYPE_BREAKPOINT
    config = 0 if watches else opening.config[0]
    struct.pack_into("=IIQQQQQ", made, 0, opening.type, ATTRIBUTES_SIZE, config, opening.period,
                     opening.sample_type, FORMAT_LOST if opening.samples else 0, flags)  # fmt: skip
    if watches:
        struct.pack_into("=I", made, _BREAKPOINT, opening.config[0])
    struct.pack_into("=QQ", made, _CONFIG1, *opening.config[1:])
    if is_timed:
        struct.pack_into("=I", made, _CLOCKID, CLOCK_MONOTONIC)
    return made


def open_overflow(opening: Opening, process: int, cpu: int) -> int:
    """An event of a thread, or of all if that is -1, on a CPU, not yet enabled."""
    return open_reporting_losses(attributes(opening), process, cpu)


def open_reporting_losses(made: bytearray, process: int, cpu: int) -> int:
    """An event of a thread, or of all if `process` is -1; it counts its lost records if the kernel knows how to."""
    try:
        return perf_event_open(made, process, cpu, -1, FLAG_CLOSE_ON_EXEC)
    except OSError as error:
        if error.errno != errno.EINVAL or not made[_READ_FORMAT]:
            raise
    older = bytearray(made)
    struct.pack_into("=Q", older, _READ_FORMAT, 0)
    return perf_event_open(older, process, cpu, -1, FLAG_CLOSE_ON_EXEC)


def side_band(sample_type: int, watermark: int) -> bytearray:
    """The struct perf_event_attr of an event that counts nothing and tells what processes map, execute and start, and
    their ends. Each record has the fields of `sample_type` behind it; readers are woken after `watermark` bytes."""
    made = bytearray(ATTRIBUTES_SIZE)
    flags = _DISABLED | _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR | _WATERMARK | _SAMPLE_ID_ALL | _USE_CLOCKID | _SIDE_BAND
    struct.pack_into("=IIQQQQQI", made, 0, TYPE_SOFTWARE, ATTRIBUTES_SIZE, SOFTWARE_DUMMY, 0, sample_type,
                     FORMAT_LOST, flags, watermark)  # fmt: skip
    struct.pack_into("=I", made, _CLOCKID, CLOCK_MONOTONIC)
    return made


def ring_holder(watermark: int) -> bytearray:
    """The struct perf_event_attr of an event that counts and tells nothing, for a ring that others
    write to: those with the same clock."""
    made = bytearray(ATTRIBUTES_SIZE)
    struct.pack_into("=IIQQQQQI", made, 0, TYPE_SOFTWARE, ATTRIBUTES_SIZE, SOFTWARE_DUMMY, 0, 0, 0,
                     _DISABLED | _WATERMARK | _USE_CLOCKID, watermark)  # fmt: skip
    struct.pack_into("=I", made, _CLOCKID, CLOCK_MONOTONIC)
    return made


def open_on_cpu(made: bytearray, cpu: int) -> int:
    """An event with these attributes for all that runs on a CPU, not yet enabled."""
    return open_reporting_losses(made, -1, cpu)


def set_output(event: int, other: int) -> None:
    """Have an event write its samples to another one's ring, which is of the same CPU."""
    fcntl.ioctl(event, _IOC_SET_OUTPUT, other)


def identifier(event: int) -> int:
    """What PERF_SAMPLE_IDENTIFIER has in the event's records."""
    value = bytearray(8)
    fcntl.ioctl(event, _IOC_ID, value)
    return int.from_bytes(value, "little")


def lost_records(events: Iterable[int]) -> int | None:
    """How many of their records, and of those that inherited them, found a ring full; None where the kernel does not
    tell (before Linux 6.0)."""
    values = [os.read(event, 16) for event in events]
    return sum(struct.unpack("=QQ", value)[1] for value in values) if all(len(v) == 16 for v in values) else None


def open_cycles(cpu: int) -> int:
    """A counter of processor cycles on `cpu`, not yet enabled."""
    return _open(TYPE_HARDWARE, HARDWARE_CPU_CYCLES, 0, cpu)


def open_trace_event(event_id: int, cpu: int) -> int:
    """An event for the hits of a trace event, not yet enabled; its program runs on every CPU, not only `cpu`.

    It takes no samples, since some events may only be counted (TRACE_EVENT_PERF_PERM, include/linux/trace_events.h).
    """
    return _open(TYPE_TRACEPOINT, event_id, 0, cpu)


def open_output(cpu: int) -> int:
    """An event whose ring takes what programs on `cpu` write with bpf_perf_event_output, with their times by
    CLOCK_MONOTONIC; each record wakes readers."""
    made = _output(SAMPLE_TIME | SAMPLE_RAW, _DISABLED | _USE_CLOCKID, 1)
    struct.pack_into("=Q", made, _READ_FORMAT, FORMAT_LOST)
    return open_on_cpu(made, cpu)


def timed_output(watermark: int, sample_type: int = 0) -> bytearray:
    """The struct perf_event_attr of such an event where each record has its time by CLOCK_MONOTONIC, and readers are
    woken after that many bytes. With a `sample_type` it has those fields as well, and other records than samples have
    them at their end."""
    flags = _DISABLED | _WATERMARK | _USE_CLOCKID | (_SAMPLE_ID_ALL if sample_type else 0)
    return _output(SAMPLE_TIME | SAMPLE_RAW | sample_type, flags, watermark)


def _output(sample_type: int, flags: int, wakeup: int) -> bytearray:
    attributes = bytearray(ATTRIBUTES_SIZE)
    struct.pack_into("=IIQQQQQ", attributes, 0, TYPE_SOFTWARE, ATTRIBUTES_SIZE, SOFTWARE_BPF_OUTPUT, 1, sample_type, 0,
                     flags)  # fmt: skip
    struct.pack_into("=I", attributes, 48, wakeup)
    struct.pack_into("=I", attributes, _CLOCKID, CLOCK_MONOTONIC)
    return attributes


def open_uprobe(path: str, offset: int, is_return: bool, pid: int, semaphore: int = 0) -> int:
    """An event for an instruction of a file, by file offset, in the memory of process `pid`, of all if that is 0, not
    yet enabled: its program runs for every thread of that. Never inherited: fork(2) would fail in the process.
    `semaphore` is the offset of a u16 that the kernel counts up as long as the event lives, 0 if there is none."""
    name = bytearray(os.fsencode(path) + b"\0")
    config = (_RETURN if is_return else 0) | semaphore << _SEMAPHORE
    return _open_probe(_UPROBE, config, (address_of(name), offset), pid)


def open_kprobe(address: int, is_return: bool) -> int:
    """An event for the kernel's function at an address, not yet enabled."""
    return _open_probe(_KPROBE, _RETURN if is_return else 0, (0, address))


def open_kprobe_at(symbol: str, is_return: bool, offset: int = 0) -> int:
    """The same for an offset from a symbol, which the kernel looks up."""
    name = bytearray(symbol.encode() + b"\0")
    return _open_probe(_KPROBE, _RETURN if is_return else 0, (address_of(name), offset))


def _open_probe(source: str, config: int, place: tuple[int, int], pid: int = 0) -> int:
    """`place` is config1 and config2 of the event: the address of a name, and an offset or an address."""
    kind = int(read_kernel(f"{source}/type"))
    attributes = bytearray(ATTRIBUTES_SIZE)
    struct.pack_into("=IIQ", attributes, 0, kind, ATTRIBUTES_SIZE, config)
    struct.pack_into("=Q", attributes, 40, _DISABLED)
    struct.pack_into("=QQ", attributes, 56, *place)
    # Without a process it needs a CPU; its program runs on all of them.
    process, cpu = (pid, -1) if pid else (-1, online_cpus()[0])
    return perf_event_open(attributes, process, cpu, -1, FLAG_CLOSE_ON_EXEC)


def set_program(event: int, program: int) -> None:
    """Attach a program the way that has no cookie; it stays until the event is closed."""
    fcntl.ioctl(event, _IOC_SET_BPF, program)


def enable(event: int) -> None:
    fcntl.ioctl(event, _IOC_ENABLE, 0)


def set_period(event: int, period: int) -> None:
    """What has passed of the period before does not count (__perf_event_period, kernel/events/core.c)."""
    fcntl.ioctl(event, _IOC_PERIOD, struct.pack("=Q", period))


def disable(event: int) -> None:
    """It counts no more when this returns, nor do those that inherited it."""
    fcntl.ioctl(event, _IOC_DISABLE, 0)


def close_all(descriptors: Sequence[int], closed: Callable[[], object] = int) -> None:
    """Close descriptors whose closing waits: in threads if there are several. `closed` is called behind each."""
    if len(descriptors) < 2:
        for descriptor in descriptors:
            os.close(descriptor)
            closed()
        return
    waiting = list(descriptors)
    # There may be none left, and an import takes one.
    os.close(waiting.pop())
    closed()
    from threading import Thread  # an import that most runs do without

    def work() -> None:
        while True:
            try:
                descriptor = waiting.pop()
            except IndexError:
                return
            os.close(descriptor)
            closed()

    threads = [Thread(target=work) for _ in range(min(_CLOSERS, len(descriptors)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
