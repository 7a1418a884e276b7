"""Threads that run are stopped, so that their stacks can be looked at: the guardian's part of samples.

Where the kernel has clocks for that, they stop by themselves (traps.py), at the very instruction that the thread was
at; a thread that blocks the signal for that has none. Else sonde says when: then it is met, where no CPU is idle,
mostly where CPUs are given away, as the guardian has to be given one first: at the ends of system calls.

Only what has a CPU, or waits for one, is asked to stop (PTRACE_INTERRUPT): right before, /proc is asked for its state.
A call that it enters meanwhile, or is in, is interrupted all the same: it begins again (interruptions.py) or goes on
(unfinished.py). Until such a call has returned the thread is not asked again, as a call that takes longer than the time
between two samples would never come to its end, and a limit of time would begin anew for ever. It is looked at where
the call returns, if it has taken long.

A thread whose calls stop anyway is known to be in one, and is left alone there.
"""

from __future__ import annotations

import os
from contextlib import suppress

from sonde.engines.embedded.tracer import interruptions, ptrace, stops, unfinished
from sonde.engines.embedded.tracer.plan import RETURN
from sonde.engines.embedded.tracer.threads import SampledThread, TracedThreads
from sonde.machine import proc
from sonde.machine.system import monotonic_ns
from sonde.model.units import MILLISECOND

_LONG = 2 * MILLISECOND
"""ns of CPU time that a call has used where its thread is looked at behind it."""


def ask(threads: TracedThreads) -> None:
    """Have threads that run stop, to be told of by RAN: as many as there is time for."""
    running, sampled, traps = threads.running, threads.sampled, threads.traps
    looks = traps is not None and traps.is_time_to_look(monotonic_ns())
    for tid in threads.asking.take(threads.requests):
        try:
            if traps is not None and tid in traps and not (looks and running.runs(tid) and traps.cannot_stop(tid)):
                continue
            is_asked = _may_stop(threads, tid) and running.runs(tid)
        except OSError as error:
            threads.spaces.losses.add(tid, stops.UNSAMPLED, error)
            continue
        if is_asked:
            sampled[tid] = SampledThread(True)
            threads.ptrace(ptrace.INTERRUPT, tid, 0, 0)


def at_end(threads: TracedThreads, tid: int) -> tuple[int, int]:
    """What is told of the time of a thread that is about to end: `b` and `c` of EXIT."""
    used, traps = threads.running.used(tid), threads.traps
    if traps is None or tid not in traps:
        return used, stops.ASKED
    return used, stops.BLOCKED if traps.is_pending(tid) else stops.CLOCKED


def _may_stop(threads: TracedThreads, tid: int) -> bool:
    """Whether the thread goes on by itself, outside of calls that are known."""
    return tid in threads.requests and not (
        tid in threads.held or tid in threads.unfinished or tid in threads.inside or tid in threads.standing
        or tid in threads.turning or tid in threads.starting or tid in threads.announced
    )  # fmt: skip


def is_asked(threads: TracedThreads, tid: int) -> bool:
    """Whether the thread is to stop for a sample."""
    return tid in threads.sampled and threads.sampled[tid].is_asked


def is_clock(threads: TracedThreads, tid: int) -> bool:
    """Whether the thread, which is about to get SIGTRAP, has been stopped by a clock. Raises OSError if it is gone."""
    return threads.traps is not None and threads.traps.clock(tid) >= 0


def is_trapped(threads: TracedThreads, tid: int) -> bool:
    """The same; it does not get the signal then. It stops once more, as if it had been asked to, where the end of the
    guardian lets it go on."""
    if threads.traps is None or (clock := threads.traps.clock(tid)) < 0:
        return False
    if threads.tracing and tid not in threads.unfinished:
        threads.sampled[tid] = SampledThread(True, clock)
        threads.ptrace(ptrace.INTERRUPT, tid, 0, 0)
    threads.proceed(tid)
    return True


def stopped(threads: TracedThreads, tid: int) -> None:
    """The thread has stopped to be sampled. Raises OSError if it is gone, injection.ThreadEndedError."""
    clock, used, traps = threads.sampled[tid].clock, threads.running.used(tid), threads.traps
    if traps is not None and tid in traps.left:
        traps.left.discard(tid)
        traps.take_out(tid)
    in_call = ptrace.called(tid) >= 0
    if in_call:
        _have_call_go_on(threads, tid)
    threads.sampled[tid] = SampledThread(False, clock, used)
    threads.tell(tid, stops.RAN, True, used, int(in_call) * stops.IN_CALL, clock)


def _have_call_go_on(threads: TracedThreads, tid: int) -> None:
    number = interruptions.begin_again(threads, tid)
    if number >= 0:
        threads.unfinished[tid] = None
        if number not in threads.notifications.numbers:
            threads.repeating[tid] = number
    else:
        go_on(threads, tid)


def go_on(threads: TracedThreads, tid: int) -> None:
    """The thread stopped because the guardian asked for it: if that cut a call short it goes on. Raises OSError."""
    left = unfinished.rest(tid) if ptrace.called(tid) >= 0 else None
    if left is None or interruptions.has_signal(threads, tid) or _may_be_refused(threads, tid):
        return
    wanted = threads.wanted.get(left.number, 0)
    if left.pieces and wanted & RETURN:
        # What moves a piece is a call that the program has not made: it is neither told nor looked up.
        threads.inside[tid] = left.number << 4 | wanted
    _make_once_more(threads, tid, left)


def _make_once_more(threads: TracedThreads, tid: int, left: unfinished.Unfinished) -> None:
    threads.unfinished[tid] = left
    threads.repeating[tid] = left.number
    unfinished.go_on(tid, left)


def _may_be_refused(threads: TracedThreads, tid: int) -> bool:
    """True if the thread has a seccomp filter of its own: it may refuse a call with other arguments. Raises OSError."""
    found = proc.status(tid)
    if found.get("Seccomp", "0") == "0":
        return False
    ours = int(proc.status(os.getpid()).get("Seccomp_filters", "0"))
    ours += threads.filters and threads.requests.get(tid) == ptrace.CONT
    return "Seccomp_filters" not in found or int(found["Seccomp_filters"]) > ours


def is_moving_piece(threads: TracedThreads, tid: int) -> bool:
    """Whether the call that the thread enters is one that the guardian has it make for a piece of a vector."""
    call = threads.unfinished.get(tid)
    return call is not None and bool(call.pieces)


def called(threads: TracedThreads, tid: int) -> bool:
    """A thread with a call that is made once more stops at its entry or exit: whether it has gone on, and nobody else
    is concerned."""
    if not is_leaving(threads, tid):
        if _steps(threads, tid) and not is_moving_piece(threads, tid):
            return False
        threads.proceed(tid)
        return True
    finish(threads, tid)
    if tid in threads.unfinished:
        threads.proceed(tid)
        return True
    threads.repeating.pop(tid, None)
    if tid in threads.inside:
        return False
    used = threads.running.used(tid)
    has_clock = threads.traps is not None and tid in threads.traps
    if not has_clock and tid in threads.sampled and used - threads.sampled[tid].used > _LONG:
        threads.tell(tid, stops.RAN, True, used, stops.IN_CALL, -1)
    else:
        threads.proceed(tid)
    return True


def cuts_short(threads: TracedThreads, tid: int, result: int) -> bool:
    """Whether a call that the thread leaves with this result was interrupted alone because the thread is to be sampled:
    it is asked once more then, to stop behind the call. It was asked when it stood at the call's entry."""
    if not is_asked(threads, tid):
        return False
    if result >= 0 and unfinished.rest(tid) is None:
        return False
    if result < 0 and -result not in ptrace.RESTARTS and not interruptions.is_failing(tid):
        return False
    if interruptions.has_signal(threads, tid):
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
    """The thread leaves a call that was made once more, or a signal comes before it could be. If there are more pieces
    it makes one more call, and is still `unfinished`."""
    call = threads.unfinished.pop(tid, None)
    if call is None:
        return
    with suppress(OSError):
        left = unfinished.next_piece(tid, call)
        if left is not None:
            _make_once_more(threads, tid, left)
            # The kernel looks for a call to be made once more only where it stops behind the exit.
            threads.ptrace(ptrace.INTERRUPT, tid, 0, 0)
            return
    interruptions.finish(threads, tid, call)
