"""Threads that run are stopped, so that their stacks can be looked at: the guardian's part of samples.

Only what is on a CPU, or waits for one, is asked to stop (PTRACE_INTERRUPT): right before, /proc is asked for its
state. A call that it enters meanwhile, or is in, is interrupted all the same: it begins again (interruptions.py) or
goes on (unfinished.py). Until such a call has returned the thread is not asked again, as a call that takes longer than
the time between two samples would never come to its end, and a limit of time would begin anew for ever. It is looked at
where the call returns.

A thread whose calls stop anyway is known to be in one, and is left alone there.
"""

from __future__ import annotations

from sonde.engines.embedded.tracer import interruptions, ptrace, stops, unfinished
from sonde.engines.embedded.tracer.threads import TracedThreads


def ask(threads: TracedThreads) -> None:
    """Have the threads that run stop, to be told of by RAN."""
    running = threads.running
    for tid in list(threads.requests):
        if _may_stop(threads, tid) and running.runs(tid):
            threads.sampled.add(tid)
            threads.ptrace(ptrace.INTERRUPT, tid, 0, 0)


def _may_stop(threads: TracedThreads, tid: int) -> bool:
    """Whether the thread goes on by itself, outside of calls that are known."""
    return not (
        tid in threads.held or tid in threads.unfinished or tid in threads.inside or tid in threads.standing
        or tid in threads.turning or tid in threads.starting or tid in threads.announced
    )  # fmt: skip


def stopped(threads: TracedThreads, tid: int) -> None:
    """The thread has stopped to be sampled. Raises OSError if it is gone."""
    threads.sampled.discard(tid)
    in_call = ptrace.called(tid) >= 0
    if in_call:
        number = interruptions.begin_again(threads, tid)
        if number >= 0:
            threads.unfinished[tid] = None
            if number not in threads.notifications.numbers:
                threads.repeating[tid] = number
        elif (left := unfinished.rest(tid)) is not None and not interruptions.has_signal(tid):
            threads.unfinished[tid] = unfinished.go_on(tid, left)
            threads.repeating[tid] = ptrace.called(tid)
    _tell(threads, tid, in_call)


def called(threads: TracedThreads, tid: int) -> bool:
    """A thread with a call that is made once more stops at its entry or exit: whether it has gone on, and nobody else
    is concerned."""
    if not is_leaving(threads, tid):
        if _steps(threads, tid):
            return False
        threads.proceed(tid)
        return True
    finish(threads, tid)
    if tid in threads.inside:
        return False
    threads.repeating.pop(tid, None)
    _tell(threads, tid, True)
    return True


def cuts_short(threads: TracedThreads, tid: int, result: int) -> bool:
    """Whether a call that the thread leaves with this result was interrupted alone because the thread is to be sampled:
    it is asked once more then, to stop behind the call. It was asked when it stood at the call's entry."""
    if tid not in threads.sampled:
        return False
    if result >= 0 and unfinished.rest(tid) is None:
        return False
    if result < 0 and -result not in ptrace.RESTARTS and not interruptions.is_failing(tid):
        return False
    if interruptions.has_signal(tid):
        return False
    threads.ptrace(ptrace.INTERRUPT, tid, 0, 0)
    return True


def _steps(threads: TracedThreads, tid: int) -> bool:
    """Whether each call of the thread stops it."""
    return tid in threads.stepping or (bool(threads.wanted) and threads.requests.get(tid) == ptrace.SYSCALL)


def is_leaving(threads: TracedThreads, tid: int) -> bool:
    """Whether a thread that has stopped at a system call is at its exit."""
    if threads.ptrace(ptrace.GET_SYSCALL_INFO, tid, ptrace.INFO_SIZE, threads.info) < 0:
        return False
    return threads.writer.info_words[0] & 0xFF == ptrace.INFO_EXIT


def finish(threads: TracedThreads, tid: int) -> None:
    """The thread leaves a call that was made once more, or a signal comes before it could be."""
    call = threads.unfinished.pop(tid, None)
    if call is not None:
        unfinished.finish(tid, call)


def _tell(threads: TracedThreads, tid: int, in_call: bool) -> None:
    threads.tell(tid, stops.RAN, True, threads.running.used(tid), int(in_call))
