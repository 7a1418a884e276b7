"""Children that sonde has started, in a process where others may wait for any child.

Services do: a handler of SIGCHLD that collects whatever has ended (waitpid(-1)), or SIGCHLD ignored, with which the
kernel keeps no status. So a child that is not there to be waited for has ended, and its status is not known; a stop of
a traced child may have been told to somebody else.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable

_GRACE = 100
"""Milliseconds that a child which was asked to end may take before nobody waits for that any more but a thread."""

_FIRST_LOOK, _LAST_LOOK = 0.00005, 0.002
"""Seconds between two looks at a child that is about to stop: the first, doubled from look to look up to the last."""


def collected(pid: int) -> tuple[bool, int | None]:
    """Collect the child if it has ended: whether it has, and its status as wait(2) gives it, if that can be known."""
    try:
        found, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return True, None
    return bool(found), status if found else None


def wait_for(pid: int) -> int | None:
    """Until the child has ended, whoever collects it; its exit code, None if that is not known."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return None


def next_status(pid: int, stopped_by: Callable[[], int | None]) -> int | None:
    """The status of a traced child's next stop, or of its end, whoever has been told of it; None of an end that
    somebody else has collected. `stopped_by`: the signal that it stands still for, None while it runs. The child has
    to be continued by whoever calls this."""
    pause = _FIRST_LOOK
    while True:
        stopped = stopped_by()
        try:
            found, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return None
        if found:
            return status
        if stopped is not None:
            return stopped << 8 | 0x7F
        time.sleep(pause)
        pause = min(2 * pause, _LAST_LOOK)


def collect_soon(pid: int) -> None:
    """Collect a child that has been told to end, when it does: at once as a rule, else by a thread that waits."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except OSError:
        # Containers' profiles refuse it.
        collect_later(pid)
        return
    end = select.poll()
    end.register(descriptor, select.POLLIN)
    end.poll(_GRACE)
    os.close(descriptor)
    has_ended, _ = collected(pid)
    if not has_ended:
        collect_later(pid)


def collect_later(pid: int) -> None:
    """Have a thread wait for the child, which nobody else needs to. Of the command's runs hardly any needs one."""
    import threading  # few runs leave a child behind

    threading.Thread(target=wait_for, args=(pid,), name="sonde-collector", daemon=True).start()


def forget_handlers() -> None:
    """In a child: what sonde does on signals is not for it to do."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)


def open_nothing(flags: int) -> int:
    """A descriptor in the place of one that is closed or unwanted: of /dev/null, or else of the root directory, which
    refuses to be read and written."""
    try:
        return os.open(os.devnull, flags)
    except OSError:
        return os.open("/", os.O_RDONLY)


def keep_open(kept: list[int]) -> None:
    """In a child: close all that is sonde's but these, which are sorted. What reads its output, say, waits for the end
    of all who hold it."""
    nothing = open_nothing(os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    first = 3
    for descriptor in kept:
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))
