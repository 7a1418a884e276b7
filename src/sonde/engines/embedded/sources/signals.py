"""A signal that is about to be delivered, as the two tracepoints that tell of it: signal_generate and signal_deliver.

A traced process gets signals that it ignores shown too, which without a tracer never come as far as delivery.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.task import Task
from sonde.engines.embedded.threads import Threads
from sonde.target.facts import is_signal_ignored

_INFORMATION = struct.Struct("=IIQQq6QI4x")
"""The record's bytes from struct ptrace_syscall_info on, where a signal has the beginning of its siginfo_t."""

_BY_PROCESS = (0, -1, -6)
"""SI_USER, SI_QUEUE, SI_TKILL: a process sent it (include/uapi/asm-generic/siginfo.h)."""

_SIGCHLD = 17

_DELIVERED, _IGNORED = 0, 1
"""Results of signal_generate (include/trace/events/signal.h)."""


class SignalSource:
    """`fire` runs the programs of a tracepoint: its name, the thread, the time and the arguments."""

    def __init__(self, threads: Threads, buffers: Buffers, fire: Callable[..., None]) -> None:
        self._threads = threads
        self._buffers = buffers
        self._fire = fire

    def delivered(self, record: Sequence[int], task: Task) -> None:
        when, number, code, sender = record[3:7]
        _INFORMATION.pack_into(self._buffers.information, 0, *record[7:])
        information = self._buffers.information_at
        ignored = is_signal_ignored(task.pid, number)
        who = self._sender(task, number, code, sender)
        result = _IGNORED if ignored else _DELIVERED
        self._fire("signal_generate", who, when, number, information, task.address, 0, result)
        if not ignored:
            self._fire("signal_deliver", task, when, number, information)

    def _sender(self, task: Task, number: int, code: int, pid: int) -> Task:
        """Who was running when the signal came into being, as far as it can be told."""
        if pid and (code in _BY_PROCESS or (number == _SIGCHLD and code > 0)):
            return self._threads.by_tid.get(pid) or self._threads.outsider(pid) or task
        return task
