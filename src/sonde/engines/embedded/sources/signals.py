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
_CLD_EXITED, _CLD_KILLED, _CLD_DUMPED = 1, 2, 3
_CHILD = struct.Struct("=iii4xiIi")
"""The beginning of SIGCHLD's siginfo_t: si_signo, si_errno, si_code, si_pid, si_uid, si_status."""

_SENDER = 10
"""The field of a record with si_pid in its lower half."""

_DELIVERED, _IGNORED = 0, 1
"""Results of signal_generate (include/trace/events/signal.h)."""


class SignalSource:
    """`fire` runs the programs of a tracepoint: its name, the thread, the time and the arguments."""

    def __init__(self, threads: Threads, buffers: Buffers, fire: Callable[..., None]) -> None:
        self._threads = threads
        self._buffers = buffers
        self._fire = fire

    def delivered(self, record: Sequence[int], task: Task) -> None:
        when, number, code = record[3:6]
        _INFORMATION.pack_into(self._buffers.information, 0, *record[7:])
        information = self._buffers.information_at
        ignored = is_signal_ignored(task.pid, number)
        sender = self._threads.sender(record[_SENDER] & 0xFFFFFFFF) if _is_from_process(number, code) else None
        who = sender or task
        result = _IGNORED if ignored else _DELIVERED
        self._fire("signal_generate", who, when, number, information, task.address, 0, result)
        if not ignored:
            self._fire("signal_deliver", task, when, number, information)

    def parent_told(self, task: Task, when: int, status: int) -> None:
        """The last thread of a process ends: a parent that is not traced gets SIGCHLD, which is seen only here."""
        parent = task.process.parent
        if parent is None or parent.threads or parent.leader is None:
            return
        code = _CLD_EXITED if not status & 0x7F else _CLD_DUMPED if status & 0x80 else _CLD_KILLED
        value = status >> 8 if code == _CLD_EXITED else status & 0x7F
        _CHILD.pack_into(self._buffers.information, 0, _SIGCHLD, 0, code, task.pid, task.uid, value)
        result = _IGNORED if is_signal_ignored(parent.pid, _SIGCHLD) else _DELIVERED
        self._fire(
            "signal_generate", task, when, _SIGCHLD, self._buffers.information_at, parent.leader.address, 1, result
        )


def _is_from_process(number: int, code: int) -> bool:
    """Whether a process was running and sent the signal when it came into being."""
    return code in _BY_PROCESS or (number == _SIGCHLD and code > 0)
