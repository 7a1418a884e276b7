"""Threads that have a filter of their own besides sonde's: each of their system calls stops them from then on.

What another filter refuses, by ERRNO, TRAP or KILL, is stricter than sonde's TRACE or notification and hides it, so
such a call would not be told. The stop at a call's entry comes before all filters (syscall_trace_enter() in
kernel/entry/common.c, since Linux 4.8), and that at its exit has what they have made of it.

A thread is *turned* at the first stop behind the installation: `threads.turning` are those that still go on by the
filter alone, `threads.stepping` those that do not. What the notifier hears of the latter it does not tell.
"""

from __future__ import annotations

import os
from contextlib import suppress

from sonde.arch import registers, system_calls
from sonde.engines.embedded.tracer import ptrace, seccomp
from sonde.engines.embedded.tracer.threads import Installation, TracedThreads
from sonde.machine import proc

_NUMBER = 3
"""The word of struct ptrace_syscall_info with a call's number, before its arguments."""


def installation(threads: TracedThreads) -> Installation | None:
    """What the thread that stopped by sonde's filter is about to install; None if it only asks."""
    number, operation, flags = threads.writer.info_words[_NUMBER : _NUMBER + 3]
    if number == system_calls.SECCOMP:
        return Installation(bool(flags & seccomp.SYNCHRONIZE)) if operation == seccomp.SET_MODE_FILTER else None
    return Installation() if number == system_calls.PRCTL and flags == seccomp.MODE_FILTER else None


def installed(threads: TracedThreads, tid: int, of: Installation) -> None:
    """The thread leaves the call; it may have failed. A positive result is a listener, or another thread's number."""
    with suppress(OSError):
        if ptrace.call(ptrace.PEEKUSER, tid, registers.CALL_RESULT) < 0 or threads.is_free(tid):
            return
        threads.turning.add(tid)
        if of.synchronizes:
            _turn_others(threads, tid)


def _turn_others(threads: TracedThreads, tid: int) -> None:
    """The process's other threads have the filter as well, wherever they are."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for other in proc.threads(int(proc.status(tid)["Tgid"])):
            if other != tid and other in threads.requests and other not in threads.stepping:
                threads.turning.add(other)
                if threads.tracing:
                    threads.ptrace(ptrace.INTERRUPT, other, 0, 0)


def inherit(threads: TracedThreads, maker: int, made: int) -> None:
    """What a thread makes has its filters."""
    if maker in threads.turning or maker in threads.stepping:
        threads.requests[made] = ptrace.CONT
        threads.turning.add(made)


def rename(threads: TracedThreads, former: int, tid: int) -> None:
    """The thread `former` has got another number by exec (ptrace(2))."""
    had = threads.forget_filters(former)
    if threads.forget_filters(tid) or had:
        threads.requests[tid] = ptrace.CONT
        threads.turning.add(tid)


def has_more_filters(seccomp_filters: str) -> bool:
    """Whether a thread with so many filters (/proc/TID/status) has one besides sonde's and those that sonde has."""
    own = proc.status(os.getpid()).get("Seccomp_filters", "0")
    return bool(seccomp_filters) and int(seccomp_filters) > int(own) + 1
