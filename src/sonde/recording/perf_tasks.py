"""Trace events of the scheduler as firings of its tracepoints, for the probes of `sched` and `proc` that follow from
these.

A tracepoint's arguments point to structures of threads. The file has no memory of the kernel's, but it tells names and
numbers: these are what can be read at addresses that stand for the structures. Other members cannot.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence

from sonde.engines.fired import FiringThread, MemoryRead
from sonde.formats.perf_filed_samples import FiledSample
from sonde.formats.perf_tracing_data import DescribedEvent
from sonde.model.probe import RawTracepoint
from sonde.recording.perf_fields import EventFields
from sonde.recording.perf_threads import FiledThreads
from sonde.runtime.kernel_types import layout
from sonde.typed import NamedTuple

_TASK = layout("struct task_struct")
_THREAD_CPU = _TASK.offsets["thread_info"] + layout("struct thread_info").offsets["cpu"]
_FIRST, _PRIORITY = _TASK.offsets["comm"], _TASK.offsets["prio"]
_IDENTITY = struct.Struct("=16siiQQQ")
"""comm, pid, tgid, real_parent, parent and group_leader, which stand one behind the other."""
_NUMBER = struct.Struct("=I")
_U32 = (1 << 32) - 1

_STRUCTURES = 0xFFFF_C000_0000_0000
"""Where they seem to be: an address of the kernel, a KiB for each thread."""
_ROOM = 1024
_PREEMPTED = 0x100
"""In the state that the event tells of: it was preempted (TASK_REPORT_MAX, include/trace/events/sched.h)."""
_STATES = 0xFF

Value = int | FiringThread


class Hit(NamedTuple):
    """A tracepoint is hit by a thread, None for that of the sample: its arguments as the context has them, and what can
    be read where they point to."""

    name: str
    context: bytes
    reads: tuple[MemoryRead, ...]
    thread: FiringThread | None = None


class TaskStructures:
    """`threads` knows who they are."""

    def __init__(self, threads: FiledThreads) -> None:
        self._threads = threads

    def hit(self, name: str, *values: Value, thread: FiringThread | None = None, **members: int) -> Hit:
        """With these arguments; `members` are more of what is known of the threads among them: `prio`, `cpu`."""
        reads: list[MemoryRead] = []
        words = [each if isinstance(each, int) else self._structure(each, members, reads) for each in values]
        return Hit(name, struct.pack(f"={len(words)}q", *map(_signed, words)), tuple(reads), thread)

    def _structure(self, thread: FiringThread, members: Mapping[str, int], reads: list[MemoryRead]) -> int:
        address = _address(thread.tid)
        parent = _address(thread.ppid) if thread.ppid >= 0 else 0
        reads.append(self._identity(thread))
        if "prio" in members:
            reads.append(MemoryRead(address + _PRIORITY, _NUMBER.pack(members["prio"] & _U32)))
        if "cpu" in members:
            reads.append(MemoryRead(address + _THREAD_CPU, _NUMBER.pack(members["cpu"] & _U32)))
        if parent:
            reads.append(self._identity(self._threads.thread(thread.ppid, thread.ppid, 0)))
        return address

    @staticmethod
    def _identity(thread: FiringThread) -> MemoryRead:
        parent = _address(thread.ppid) if thread.ppid >= 0 else 0
        data = _IDENTITY.pack(thread.comm, thread.tid, thread.pid, parent, parent, _address(thread.pid))
        # Of a parent that is not known nothing is told, so it cannot be read.
        return MemoryRead(_address(thread.tid) + _FIRST, data if parent else data[:24])


def _address(tid: int) -> int:
    return _STRUCTURES + _ROOM * max(tid, 0)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


Hits = Callable[[FiledSample, TaskStructures, FiledThreads], Sequence[Hit]]


def _switched(fields: EventFields) -> Hits:
    def hits(sample: FiledSample, tasks: TaskStructures, threads: FiledThreads) -> Sequence[Hit]:
        state = fields.number(sample, "prev_state")
        before = threads.thread(sample.pid, fields.number(sample, "prev_pid"), sample.cpu)
        after = threads.any(fields.number(sample, "next_pid"), fields.text(sample, "next_comm"), sample.cpu)
        is_preempted = int(bool(state & _PREEMPTED))
        return (
            tasks.hit("sched_switch", is_preempted, before, after, state & _STATES, cpu=max(sample.cpu, 0)),
            tasks.hit("switch_in", after, thread=after, cpu=max(sample.cpu, 0)),
        )

    return hits


def _woken(name: str) -> Callable[[EventFields], Hits]:
    def of(fields: EventFields) -> Hits:
        def hits(sample: FiledSample, tasks: TaskStructures, threads: FiledThreads) -> Sequence[Hit]:
            woken = threads.any(fields.number(sample, "pid"), fields.text(sample, "comm"), sample.cpu)
            cpu, priority = fields.number(sample, "target_cpu"), fields.number(sample, "prio")
            return (tasks.hit(name, woken, prio=priority, cpu=cpu),)

        return hits

    return of


def _forked(fields: EventFields) -> Hits:
    def hits(sample: FiledSample, tasks: TaskStructures, threads: FiledThreads) -> Sequence[Hit]:
        maker = threads.thread(sample.pid, sample.tid, sample.cpu)
        made = threads.any(fields.number(sample, "child_pid"), fields.text(sample, "child_comm"), sample.cpu)
        return (tasks.hit("sched_process_fork", maker, made),)

    return hits


def _executed(fields: EventFields) -> Hits:
    def hits(sample: FiledSample, tasks: TaskStructures, threads: FiledThreads) -> Sequence[Hit]:
        thread = threads.thread(sample.pid, sample.tid, sample.cpu)
        return (tasks.hit("sched_process_exec", thread, fields.number(sample, "old_pid")),)

    return hits


def _exited(fields: EventFields) -> Hits:
    def hits(sample: FiledSample, tasks: TaskStructures, threads: FiledThreads) -> Sequence[Hit]:
        thread = threads.thread(sample.pid, sample.tid, sample.cpu)
        # Older kernels do not tell which thread is the last one: a process ends with its first.
        is_last = fields.number(sample, "group_dead") if fields.has("group_dead") else thread.pid == thread.tid
        return (tasks.hit("sched_process_exit", thread, int(is_last)),)

    return hits


class _Known(NamedTuple):
    """A trace event: the tracepoints that it tells of, the fields that its record must have, how it is read."""

    tracepoints: tuple[str, ...]
    needs: tuple[str, ...]
    read: Callable[[EventFields], Hits]


_WOKEN = ("comm", "pid", "prio", "target_cpu")

_EVENTS = {
    "sched_switch": _Known(
        ("sched_switch", "switch_in"), ("prev_pid", "prev_state", "next_pid", "next_comm"), _switched
    ),
    "sched_wakeup": _Known(("sched_wakeup",), _WOKEN, _woken("sched_wakeup")),
    "sched_wakeup_new": _Known(("sched_wakeup_new",), _WOKEN, _woken("sched_wakeup_new")),
    "sched_waking": _Known(("sched_waking",), _WOKEN, _woken("sched_waking")),
    "sched_process_fork": _Known(("sched_process_fork",), ("child_pid", "child_comm"), _forked),
    "sched_process_exec": _Known(("sched_process_exec",), ("old_pid",), _executed),
    "sched_process_exit": _Known(("sched_process_exit",), ("pid",), _exited),
}  # fmt: skip

ARGUMENTS = {
    "sched_switch": 4, "switch_in": 1, "switch_out": 2, "sched_wakeup": 1, "sched_wakeup_new": 1, "sched_waking": 1,
    "sched_process_fork": 2, "sched_process_exec": 2, "sched_process_exit": 2, "sys_enter": 2, "sys_exit": 2,
}  # fmt: skip
"""How many each tracepoint has here, as `runtime/kernel_types.py` describes them."""


def tracepoint(name: str) -> RawTracepoint:
    return RawTracepoint(name, ARGUMENTS[name])


def scheduler_event(described: DescribedEvent) -> tuple[tuple[str, ...], Hits] | None:
    """The tracepoints that samples of an event tell of, and how; None if it tells of none."""
    known = _EVENTS.get(described.name) if described.group == "sched" else None
    if known is None:
        return None
    fields = EventFields(described.format)
    if not all(map(fields.has, known.needs)):
        return None
    return known.tracepoints, known.read(fields)
