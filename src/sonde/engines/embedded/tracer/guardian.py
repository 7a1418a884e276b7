"""The guardian: a small process, in a process group of its own, that traces threads for sonde, and outlives it.

It makes ptrace calls and nothing else. What stops a thread it writes into a ring of shared memory (stops.py) and lets
the thread go on at once, or, where the plan says so, when sonde says so. Where sonde ends, however that comes about,
the pipes to it close, and the guardian undoes what was done to the threads (outliving.py).

Nothing that a thread does can be waited for together with a pipe; hence watch.py.
"""

from __future__ import annotations

import gc
import os
import signal
from mmap import mmap

from sonde import children, others
from sonde.engines.embedded.tracer import notifier, quick, slices, watch
from sonde.engines.embedded.tracer.breakpoints import Breakpoints
from sonde.engines.embedded.tracer.following import Follower
from sonde.engines.embedded.tracer.notifications import Notifications
from sonde.engines.embedded.tracer.outliving import outlive
from sonde.engines.embedded.tracer.threads import TracedThreads
from sonde.typed import NamedTuple

_HEEDED = {
    signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGCONT,
    signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGSYS, signal.SIGTRAP,
}  # fmt: skip
"""What cannot be ignored, and what tells of an error of the guardian's own. All others would end or stop it."""


class Ends(NamedTuple):
    """The guardian's ends of the pipes to sonde: commands to read, bytes in `knocks` where it may not be reading,
    answers to write; the eventfd that wakes sonde; and what tells the notifier of room.
    """

    commands: int
    knocks: int
    answers: int
    bell: int
    room: int


def start(memory: mmap, notes: mmap, ends: Ends) -> int:
    """Fork the guardian; its pid. `notes` is for the notifier's ring."""
    pid = os.fork()
    if pid == 0:
        try:
            _guard(memory, notes, ends)
        finally:
            os._exit(1)
    return pid


def _guard(memory: mmap, notes: mmap, ends: Ends) -> None:
    """In the guardian: never returns."""
    # The session stays sonde's: the scheduler lets sessions take turns (autogroups, sched(7)), and SCHED_IDLE gives way
    # only to what is in the same one (placement.py).
    os.setpgid(0, 0)
    children.forget_handlers()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in signal.valid_signals() - _HEEDED:
        signal.signal(number, signal.SIG_IGN)
    children.keep_open(sorted(ends))
    _name(b"sonde-guardian")
    others.stand_apart()
    gc.disable()
    slices.take_short()
    follower = Follower(ends.commands, watch.start(ends.knocks))
    os.close(ends.knocks)

    def fork_notifier(listener: int) -> int:
        # It would run where the guardian is, and as it does, for ever.
        follower.placement.part()
        return _fork_notifier(notes, listener, ends)

    notifications = Notifications(fork_notifier)
    threads = follower.threads = TracedThreads(memory, ends.bell, ends.answers, follower.listen, notifications)
    threads.notes = memoryview(notes).cast("Q")
    follower.quick = quick.prepared(threads, memory)
    follower.breakpoints = Breakpoints(threads, memory)
    left = follower.follow()
    follower.end()
    outlive(threads, *left)
    os._exit(0)


def _fork_notifier(notes: mmap, listener: int, ends: Ends) -> int:
    """The notifier has the guardian's session and signals; its pid."""
    pid = os.fork()
    if pid == 0:
        try:
            children.keep_open(sorted((ends.bell, ends.room, listener)))
            _name(b"sonde-notifier")
            notifier.serve(notes, listener, ends.bell, ends.room)
            os._exit(0)
        finally:
            os._exit(1)
    return pid


def _name(name: bytes) -> None:
    """What ps shows."""
    with open("/proc/self/comm", "wb", buffering=0) as file:
        file.write(name)
