"""Stops that are not of system calls: threads made, started, ended, exec, signals, job control."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from sonde.engines.embedded.tracer import (
    commands,
    injection,
    interruptions,
    orphans,
    ptrace,
    samples,
    shared_memory,
    signals_in_slots,
    stepping,
    stops,
    unbegun,
    untraced_makers,
)
from sonde.engines.embedded.tracer.awaited_returns import AwaitedReturns
from sonde.engines.embedded.tracer.threads import TracedThreads
from sonde.machine.system import monotonic_ns

GROUP_STOPS = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
FORKS = (ptrace.EVENT_FORK, ptrace.EVENT_VFORK, ptrace.EVENT_CLONE)


def handle(threads: TracedThreads, tid: int, status: int) -> None:
    """One status of wait(2). A thread that turns out to be gone is left to the report of its end."""
    if threads.notifications.has_changed(tid, status):
        return
    if not os.WIFSTOPPED(status):
        _ended(threads, tid, status)
        return
    event, number = status >> 16, status >> 8 & 0xFF
    try:
        if event == ptrace.EVENT_STOP:
            _stop(threads, tid, number)
        elif event:
            _event(threads, tid, event)
        else:
            _signal(threads, tid, number)
    except injection.ThreadEndedError as error:
        handle(threads, tid, error.args[0])
    except ProcessLookupError:
        return


def _event(threads: TracedThreads, tid: int, event: int) -> None:
    message = ptrace.event_message(tid)
    if event in FORKS:
        _made(threads, tid, message, event)
    elif event == ptrace.EVENT_EXEC:
        _exec(threads, tid, message)
    elif event == ptrace.EVENT_EXIT:
        _tell(threads, tid, stops.EXIT, message, *(samples.at_end(threads, tid) if threads.plan.times else (0, 0)))
    else:
        threads.proceed(tid)


def _tell(threads: TracedThreads, tid: int, kind: int, a: int, b: int = 0, c: int = 0, deliver: int = 0) -> None:
    """Tell of what the plan may want, and let the thread go on."""
    if threads.tracing and kind in threads.plan.events:
        if kind != stops.SIGNAL:
            threads.ptrace(ptrace.GET_SYSCALL_INFO, tid, ptrace.INFO_SIZE, threads.info)
        threads.tell(tid, kind, kind in threads.plan.held, a, b, c, deliver)
    else:
        threads.proceed(tid, deliver)


def _made(threads: TracedThreads, tid: int, made: int, event: int) -> None:
    """The maker's stop; the child's own may have come first."""
    is_thread = event == ptrace.EVENT_CLONE and os.path.exists(f"/proc/{tid}/task/{made}")
    is_shared = is_thread or shared_memory.is_shared(tid, made, event)
    if not is_shared:
        remove_copy(threads, tid, made)
    if threads.spaces.by_tid:
        threads.spaces.forked(tid, made, is_shared)
        if not is_thread and tid in threads.calls and made in threads.spaces.by_tid:
            threads.calls[made] = threads.calls[tid].copy()
    inside = threads.inside.get(tid, 0)
    if made not in threads.requests:
        threads.requests[made] = threads.requests.get(tid, ptrace.CONT)
        stepping.inherit(threads, tid, made)
        threads.announced[made] = (tid, int(is_thread), inside >> 4 if inside else -1)
    if threads.traps is not None:
        threads.traps.made(tid, made)
    untraced_makers.made(threads, tid, made)
    _tell(threads, tid, stops.FORK, made, int(is_thread))
    if made in threads.early:
        untraced_makers.put_back(threads, made)
        threads.start(made, *threads.announced.pop(made))
        threads.early.pop(made)


def _stop(threads: TracedThreads, tid: int, number: int) -> None:
    """PTRACE_EVENT_STOP: group-stop, a child's first stop, or what PTRACE_INTERRUPT leads to."""
    untraced_makers.put_back(threads, tid)
    if tid not in threads.requests:
        threads.early[tid] = monotonic_ns()
    elif number in GROUP_STOPS:
        if tid in threads.announced:
            threads.note(tid, stops.START, *threads.announced.pop(tid))
        threads.ptrace(ptrace.LISTEN, tid, 0, 0)
        if threads.tracing and stops.GROUP_STOP in threads.plan.events:
            threads.note(tid, stops.GROUP_STOP, number)
    elif tid in threads.announced:
        threads.start(tid, *threads.announced.pop(tid))
    elif tid in threads.standing:
        # Sonde may have seen that it stands, and have said that all may go, before its stop is handled here.
        threads.standing.discard(tid)
        _note_repetition(threads, tid)
        if threads.tracing:
            threads.proceed(tid)
        else:
            threads.waiting.add(tid)
    elif samples.is_asked(threads, tid):
        samples.stopped(threads, tid)
    else:
        if tid in threads.turning:
            _note_repetition(threads, tid)
        threads.proceed(tid)


def _note_repetition(threads: TracedThreads, tid: int) -> None:
    """A call that was left for this stop begins once more: that is no call of its own."""
    number = interruptions.begin_again(threads, tid)
    if number < 0:
        samples.go_on(threads, tid)
    elif number not in threads.notifications.numbers:
        threads.repeating[tid] = number


def _exec(threads: TracedThreads, tid: int, former: int) -> None:
    """All other threads are gone, some without a word: the old leader has given its number to the caller."""
    threads.forget_hold(tid)
    if threads.spaces.wanted:
        threads.spaces.executed(tid, former)
        for each in {tid, former}:
            threads.calls.pop(each, None)
        if threads.tracing:
            threads.spaces.look(tid, tid)
    if threads.traps is not None:
        threads.traps.executed(tid, former)
    # A library's constructor has called exec: the command begins here, short of its entry.
    begins = threads.breakpoints.pop(tid, None) is not None
    if former != tid:
        for known in (threads.requests, threads.inside):
            known.pop(tid, None)
            if former in known:
                known[tid] = known.pop(former)
        threads.announced.pop(former, None)
        threads.sampled.pop(former, None)
        threads.unfinished.pop(tid, None)
        if former in threads.unfinished:
            threads.unfinished[tid] = threads.unfinished.pop(former)
        stepping.rename(threads, former, tid)
    if threads.early:
        orphans.adopt(threads, tid)
    if begins or tid in threads.starting:
        threads.starting.discard(tid)
        threads.notifications.awaited = 0
        threads.in_exec[tid] = True
        wait_for_go(threads, tid)
    else:
        threads.executed(tid, former)


def wait_for_go(threads: TracedThreads, tid: int) -> None:
    """A command has come to where it waits until all may go on."""
    if threads.tracing:
        threads.proceed(tid)
    else:
        threads.waiting.add(tid)
    threads.answer(commands.STOPPED, tid, 0)


def _signal(threads: TracedThreads, tid: int, number: int) -> None:
    """A signal is about to be delivered, if it is not the breakpoint at the command's entry, nor a clock's."""
    if number == signal.SIGTRAP and samples.is_trapped(threads, tid):
        return
    if number == signal.SIGTRAP and tid in threads.breakpoints:
        address = threads.breakpoints[tid][0]
        if ptrace.has_run_onto(tid, address):
            remove_breakpoint(threads, tid)
            wait_for_go(threads, tid)
            return
    threads.notifications.begin_again(tid)
    if tid in threads.spaces.by_tid:
        signals_in_slots.leave(threads, tid, number)
    unbegun.begin(tid, number)
    if tid in threads.renewed or tid in threads.unfinished or interruptions.is_failing(tid):
        interruptions.signalled(threads, tid, number)
    if interruptions.is_extra(threads, tid, number):
        threads.proceed(tid)
        return
    code = sender = 0
    if threads.tracing and stops.SIGNAL in threads.plan.events:
        code, sender = ptrace.signal_information(tid, threads.writer.info)
    _tell(threads, tid, stops.SIGNAL, number, code, sender, deliver=number)


def remove_breakpoint(threads: TracedThreads, tid: int) -> bool:
    """Put back what was at the entry of the stopped thread; whether it had come there. Raises OSError."""
    address, word = threads.breakpoints.pop(tid)
    ptrace.call(ptrace.POKEDATA, tid, address, word)
    return ptrace.step_back_to(tid, address)


def remove_copy(threads: TracedThreads, tid: int, made: int) -> None:
    """Take a breakpoint of the stopped maker out of the memory of its child, which has not run yet.

    The child may not have stopped yet either, so it is not for ptrace to do; and it may be gone.
    """
    if tid in threads.breakpoints:
        address, word = threads.breakpoints[tid]
        with suppress(OSError), open(f"/proc/{made}/mem", "r+b", buffering=0) as memory:
            memory.seek(address)
            memory.write(word.to_bytes(8, "little"))


def _ended(threads: TracedThreads, tid: int, status: int) -> None:
    """The thread has been reaped: its number may be another's from here on."""
    if tid in threads.starting or tid in threads.breakpoints:
        threads.answer(commands.ENDED, tid, status)
    threads.forget_hold(tid)
    for known in (
        threads.requests,
        threads.inside,
        threads.announced,
        threads.breakpoints,
        threads.repeating,
        threads.unfinished,
        threads.sampled,
    ):
        known.pop(tid, None)
    threads.thrown.pop(tid, None)
    threads.installing.pop(tid, None)
    threads.amended.pop(tid, None)
    threads.in_exec.pop(tid, None)
    for group in (threads.starting, threads.waiting, threads.standing, threads.renewed, threads.broken):
        group.discard(tid)
    threads.running.forget(tid)
    if threads.traps is not None:
        threads.traps.forget(tid)
    threads.forget_filters(tid)
    threads.early.pop(tid, 0)
    if tid in threads.calls:
        _hand_over_calls(threads, tid)
    threads.note(tid, stops.END, status)
    if not threads.requests:
        # Nothing more is to come that a nap would wait for.
        threads.writer.ring()
    if threads.early:
        orphans.adopt(threads, tid)
    threads.spaces.forget(tid)


def _hand_over_calls(threads: TracedThreads, tid: int) -> None:
    calls, of = threads.calls.pop(tid), threads.spaces.by_tid
    others = (each for each, space in of.items() if space is of.get(tid) and each != tid)
    if len(calls) and (other := next(others, None)) is not None:
        threads.calls.setdefault(other, AwaitedReturns()).take(calls)
