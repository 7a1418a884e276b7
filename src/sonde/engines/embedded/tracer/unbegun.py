"""Calls that a signal kept from beginning: they begin behind its handler, as they would have if nobody traced.

Most calls look for a signal where they would have to wait. A write to a terminal looks before it does anything, and
fails with EINTR behind a handler without SA_RESTART though there is room (n_tty_write, drivers/tty/n_tty.c; tty_ioctl
where it waits for output to drain). Untraced a signal meets that moment once in a great while. A thread that stops at
a call's entry stands right before it, and what comes meanwhile is pending. So where the call could go on at once its
result becomes -ERESTARTNOINTR, as for a signal that came a little earlier; where it would wait, EINTR is right.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
from contextlib import suppress

from sonde.arch import registers, system_calls
from sonde.engines.embedded.tracer import notifications, ptrace
from sonde.machine import proc

_RESTARTSYS, _RESTARTNOINTR = 512, 513

_DRAINS = frozenset((0x5403, 0x5404, 0x5407, 0x5408, 0x5409, 0x5425, 0x542C, 0x542D))
"""TCSETSW, TCSETSF, TCSETAW, TCSETAF, TCSBRK, TCSBRKP, TCSETSW2, TCSETSF2 (include/uapi/asm-generic/ioctls.h)."""


_WAITING = 0x5411
"""TIOCOUTQ, there as well."""


def begin(tid: int, number: int) -> None:
    """A signal is about to be delivered to the stopped thread. What it may have interrupted begins after it if it need
    not wait; but not what has caused it: SIGTTOU says that a terminal may not be written to."""
    if number == signal.SIGTTOU:
        return
    with suppress(OSError):
        if ptrace.result(tid) == -_RESTARTSYS and _need_not_wait(tid):
            ptrace.call(ptrace.POKEUSER, tid, registers.CALL_RESULT, -_RESTARTNOINTR)


def _need_not_wait(tid: int) -> bool:
    """Raises OSError."""
    called = ptrace.called(tid)
    drains = called == system_calls.IOCTL and ptrace.call(ptrace.PEEKUSER, tid, registers.CALL_ARGUMENTS[1]) in _DRAINS
    if called not in (system_calls.WRITE, system_calls.WRITEV) and not drains:
        return False
    process = os.pidfd_open(int(proc.status(tid)["Tgid"]))
    try:
        descriptor = notifications.duplicate(
            process, ptrace.call(ptrace.PEEKUSER, tid, registers.CALL_ARGUMENTS[0]) & 0xFFFFFFFF
        )
    finally:
        os.close(process)
    try:
        return _is_drained(descriptor) if drains else _has_room(descriptor)
    finally:
        os.close(descriptor)


def _has_room(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return poll.poll(0) == [(descriptor, select.POLLOUT)]


def _is_drained(descriptor: int) -> bool:
    """Raises OSError."""
    waiting = fcntl.ioctl(descriptor, _WAITING, bytes(4))
    return struct.unpack("=i", waiting) == (0,)
