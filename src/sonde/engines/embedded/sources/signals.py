"""A signal that is about to be delivered, as the two tracepoints that tell of it: signal_generate and signal_deliver.

A traced process gets signals that it ignores shown too, which without a tracer never come as far as delivery.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Sequence

from sonde.arch import system_calls
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.sources.task import TracedTask
from sonde.engines.embedded.sources.threads import Threads
from sonde.machine.facts import is_signal_ignored, is_told_of_children

_INFORMATION = struct.Struct("=IIQQq6QI4x")
"""The record's bytes from struct ptrace_syscall_info on, where a signal has the beginning of its siginfo_t."""

_SI_USER, _SI_QUEUE, _SI_TKILL = 0, -1, -6
_CODES = {
    system_calls.KILL: _SI_USER, system_calls.TKILL: _SI_TKILL, system_calls.TGKILL: _SI_TKILL,
}  # fmt: skip
"""By the call that sends; the others are of a queue."""
_BY_PROCESS = (_SI_USER, _SI_QUEUE, _SI_TKILL)
"""SI_USER, SI_QUEUE, SI_TKILL: a process sent it (include/uapi/asm-generic/siginfo.h)."""

_SIGCHLD = 17
_CLD_EXITED, _CLD_KILLED, _CLD_DUMPED = 1, 2, 3
_ENDS = (_CLD_EXITED, _CLD_KILLED, _CLD_DUMPED)
_CHILD = struct.Struct("=iii4xiIi")
"""The beginning of SIGCHLD's siginfo_t: si_signo, si_errno, si_code, si_pid, si_uid, si_status."""

_SENDER = 10
"""The field of a record with si_pid in its lower half."""

_DELIVERED, _IGNORED = 0, 1
"""Results of signal_generate (include/trace/events/signal.h)."""


_REMEMBERED = 64


class _Sent:
    """A signal that a traced thread sends to a process or thread; `told`: its probe has fired."""

    def __init__(self, task: TracedTask, call: int, target: int, number: int, when: int) -> None:
        self.task = task
        self.call = call
        self.target = target
        self.number = number
        self.when = when
        self.told = False


class SignalSource:
    """`fire` runs the programs of a tracepoint: its name, the thread, the time and the arguments."""

    def __init__(self, threads: Threads, buffers: Buffers, fire: Callable[..., None]) -> None:
        self._threads = threads
        self._buffers = buffers
        self._fire = fire
        self._sending: dict[int, _Sent] = {}
        """Calls that are under way, by the thread that makes them."""
        self._recent: deque[_Sent] = deque(maxlen=_REMEMBERED)
        """Signals that were sent and may not have been delivered yet."""
        self._ends_told: deque[int] = deque(maxlen=_REMEMBERED)
        """Processes whose ends have sent SIGCHLD, which may not have been delivered yet."""

    def delivered(self, record: Sequence[int], task: TracedTask) -> None:
        when, number, code = record[3:6]
        _INFORMATION.pack_into(self._buffers.information, 0, *record[7:])
        information = self._buffers.information_at
        ignored = is_signal_ignored(task.pid, number)
        sender = self._threads.sender(record[_SENDER] & 0xFFFFFFFF) if _is_from_process(number, code) else None
        if sender is None or not self._is_told(sender, task, number, code, when):
            result = _IGNORED if ignored else _DELIVERED
            self._fire("signal_generate", sender or task, when, number, information, task.address, 0, result)
            _INFORMATION.pack_into(self._buffers.information, 0, *record[7:])
        if not ignored:
            self._fire("signal_deliver", task, when, number, information)

    def sends(self, task: TracedTask, call: int, first: int, second: int, third: int, when: int) -> None:
        """The thread asks for a signal to be sent; whether that succeeds is told by the call's return."""
        is_thread = call in (system_calls.TGKILL, system_calls.TGSIGQUEUE)
        target, number = _signed(second if is_thread else first), third if is_thread else second
        if target > 0 and number:
            self._sending[task.tid] = _Sent(task, call, target, number, when)
        else:
            self._sending.pop(task.tid, None)

    def sent(self, task: TracedTask, result: int) -> None:
        """The call has returned."""
        sent = self._sending.pop(task.tid, None)
        if sent is None:
            return
        if not result and not sent.told:
            self._tell(sent)
        if not result:
            self._recent.append(sent)

    def _is_told(self, sender: TracedTask, receiver: TracedTask, number: int, code: int, when: int) -> bool:
        """Whether the signal now delivered was told of when it was sent; where that is still under way it is told."""
        if number == _SIGCHLD and code in _ENDS:
            return sender.pid in self._ends_told
        for sent in (*self._recent, *self._sending.values()):
            if sent.task.pid == sender.pid and sent.number == number and sent.target in (receiver.pid, receiver.tid):
                if not sent.told:
                    self._tell(sent)
                return True
        return False

    def _tell(self, sent: _Sent) -> None:
        sent.told = True
        by_thread = sent.call in (system_calls.TKILL, system_calls.TGKILL, system_calls.TGSIGQUEUE)
        receiver = self._threads.by_tid.get(sent.target) or self._threads.outsider(sent.target)
        if receiver is None:
            return
        code = _CODES.get(sent.call, _SI_QUEUE)
        information = self._buffers.information
        information[:] = bytes(len(information))
        _CHILD.pack_into(information, 0, sent.number, 0, code, sent.task.pid, sent.task.uid, 0)
        result = _IGNORED if is_signal_ignored(receiver.pid, sent.number) else _DELIVERED
        self._fire(
            "signal_generate", sent.task, sent.when, sent.number, self._buffers.information_at, receiver.address,
            int(not by_thread), result,
        )  # fmt: skip

    def parent_told(self, task: TracedTask, when: int, status: int) -> None:
        """The last thread of a process ends: its parent gets SIGCHLD. That is not left to the delivery: a parent that
        is not traced does not tell, and one that has such a signal pending gets no second one."""
        parent = task.process.parent
        if parent is None or parent.leader is None or not is_told_of_children(parent.pid):
            return
        self._ends_told.append(task.pid)
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


def _signed(value: int) -> int:
    """A pid_t that a register holds."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value
