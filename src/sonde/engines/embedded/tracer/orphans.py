"""Threads whose first stop came before their maker told of them: early ones, most of which wait for microseconds.

A maker that is killed in the act never tells: by SIGKILL, by exec in another of its threads. Nobody else would have
what it made go on, so it is adopted: at once where its maker is not traced any more, else after _LONGEST.
"""

from __future__ import annotations

import time

from sonde.engines.embedded.tracer import ptrace, shared_memory, stepping, untraced_makers
from sonde.engines.embedded.tracer.threads import TracedThreads
from sonde.machine import proc
from sonde.machine.system import monotonic_ns
from sonde.model.units import SECOND

_FIRST, _LAST = 50e-6, 5e-3
"""Seconds: how long to wait between looks, at first and at most."""

_LONGEST = SECOND
"""Nanoseconds in which a maker tells on all but the busiest machine. One that tells later does no harm."""


def wait(threads: TracedThreads) -> None:
    """Nothing has stopped: give makers time, and adopt what they will not tell of."""
    now = monotonic_ns()
    age = now - min(threads.early.values())
    time.sleep(min(max(age / SECOND, _FIRST), _LAST))
    adopt(threads, 0, now - _LONGEST)


def adopt(threads: TracedThreads, gone: int, before: int = 0) -> None:
    """Start what process `gone` has made, or one that is not traced, or what came before that time (monotonic, ns)."""
    for tid, came in sorted(threads.early.items()):
        try:
            status = proc.status(tid)
        except (FileNotFoundError, ProcessLookupError):
            continue
        is_thread = status["Tgid"] != str(tid)
        maker = int(status["Tgid" if is_thread else "PPid"])
        if maker == gone or maker not in threads.requests or came < before:
            # Only what has a filter of sonde's may not be let go later, and nothing else tells whether it has.
            filtered = threads.filters and status.get("Seccomp") == "2"
            threads.requests[tid] = ptrace.CONT if filtered else ptrace.SYSCALL
            if filtered and stepping.has_more_filters(status.get("Seccomp_filters", "")):
                threads.turning.add(tid)
            untraced_makers.adopt(threads, maker, tid)
            if threads.spaces.wanted:
                threads.spaces.adopted(tid, is_thread, maker, not is_thread and shared_memory.is_shared(maker, tid, 0))
            if threads.traps is not None:
                threads.traps.made(maker, tid)
            threads.start(tid, 0, int(is_thread), -1)
            threads.early.pop(tid)
