"""What the guardian does when sonde has ended: undo what was done to the threads, and let them run.

A thread without a filter is stopped once and left. A filter stays until its process ends, and makes system calls fail
if nobody is there to be told of them: so such threads are followed on, each stop continued at once.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress

from sonde.engines.embedded.tracer import (
    breakpoint_ends,
    events,
    injection,
    interruptions,
    own_filters,
    ptrace,
    samples,
    seccomp,
    shared_memory,
    signals_in_slots,
    unbegun,
    unfinished,
    untraced_makers,
)
from sonde.engines.embedded.tracer.placement import Placement
from sonde.engines.embedded.tracer.threads import TracedThreads


def outlive(threads: TracedThreads, tid: int, status: int) -> None:
    """Until no thread is left to look after. `tid` stopped with `status` and is not yet continued; 0: none is."""
    if threads.traps is not None:
        threads.traps.close()
    breakpoint_ends.restore(threads)
    for each in threads.early:
        _adopt(threads, each)
    waiting = dict.fromkeys((*threads.waiting, *threads.early), 0)
    waiting.update((held, how.signal) for held, how in threads.held.items())
    threads.unfinished = {each: call for each, call in threads.unfinished.items() if call is not None}
    for each, deliver in waiting.items():
        if _has_slots(threads, each):
            samples.finish(threads, each)
        _let_go(threads, each, deliver)
    if tid and tid not in waiting and not threads.notifications.has_changed(tid, status) and os.WIFSTOPPED(status):
        _stopped(threads, tid, status)
    for each in list(threads.requests):
        # What goes on with a call is let go behind that.
        if each not in threads.unfinished and (threads.is_free(each) or _has_slots(threads, each)):
            threads.ptrace(ptrace.INTERRUPT, each, 0, 0)
    wait, goes_on = Placement().wait, _passing(threads)
    while True:
        try:
            tid, status = wait()
        except ChildProcessError:
            return
        if status == ptrace.SECCOMP_STOP and goes_on(tid):
            continue
        if threads.notifications.has_changed(tid, status):
            continue
        if os.WIFSTOPPED(status):
            _stopped(threads, tid, status)
        else:
            _ended(threads, tid)
        while threads.ended_early:
            _ended(threads, threads.ended_early.pop()[0])


def _ended(threads: TracedThreads, tid: int) -> None:
    threads.requests.pop(tid, None)
    threads.unfinished.pop(tid, None)
    threads.broken.discard(tid)
    _stop_all(threads, breakpoint_ends.ended(threads, tid))


def _stop_all(threads: TracedThreads, tids: Sequence[int]) -> None:
    for each in tids:
        threads.ptrace(ptrace.INTERRUPT, each, 0, 0)


def _has_slots(threads: TracedThreads, tid: int) -> bool:
    """Whether the thread's memory has slots that are to be unmapped."""
    space = threads.spaces.by_tid.get(tid)
    return space is not None and space.has_slots


def _passing(threads: TracedThreads) -> Callable[[int], bool]:
    """A function that lets a thread go on which sonde's filter has stopped at a call, with the fewest steps; False if
    there is more to be done: another filter has stopped it, or it installs one."""
    ask, mark, more = threads.ptrace, threads.plan.mark, seccomp.MARKS | seccomp.INSTALLS
    word = ctypes.c_ulong()
    at, event, go = ctypes.c_void_p(ctypes.addressof(word)), ptrace.GETEVENTMSG, ptrace.CONT

    def goes_on(tid: int) -> bool:
        if ask(event, tid, 0, at) < 0 or (word.value ^ mark) & more:
            return False
        ask(go, tid, 0, 0)
        return True

    return goes_on


def _stopped(threads: TracedThreads, tid: int, status: int) -> None:
    event, number = status >> 16, status >> 8 & 0xFF
    if tid not in threads.requests and event == ptrace.EVENT_STOP:
        _adopt(threads, tid)
    if event == ptrace.EVENT_SECCOMP:
        own_filters.data_of_stop(threads, tid)
    elif number == signal.SIGTRAP | 0x80 and tid in threads.installing:
        own_filters.installed(threads, tid)
    if event == ptrace.EVENT_STOP or number == signal.SIGTRAP | 0x80:
        untraced_makers.put_back(threads, tid)
    has_gone_on = number == signal.SIGTRAP | 0x80 and tid in threads.unfinished and samples.is_leaving(threads, tid)
    if has_gone_on:
        samples.finish(threads, tid)
    if event == ptrace.EVENT_EXEC:
        threads.notifications.awaited = 0
    elif number == signal.SIGTRAP | 0x80 and tid == threads.notifications.awaited:
        threads.notifications.look(tid, threads.plan.notified)
    # Whatever cannot be undone, the thread must run on; it may be gone, too.
    with suppress(OSError):
        if not event and number == signal.SIGTRAP and samples.is_clock(threads, tid):
            number = 0
        is_asked = threads.is_free(tid) or _has_slots(threads, tid) or threads.traps is not None
        is_ours = event == ptrace.EVENT_STOP and number == signal.SIGTRAP and is_asked
        if is_ours and interruptions.begin_again(threads, tid) < 0 and not _has_slots(threads, tid):
            samples.go_on(threads, tid)
        if event in events.FORKS and ptrace.event_message(tid) not in threads.requests:
            _made(threads, tid, ptrace.event_message(tid), event)
            if event != ptrace.EVENT_VFORK:
                events.remove_copy(threads, tid, ptrace.event_message(tid))
        if event == ptrace.EVENT_EXEC:
            threads.breakpoints.pop(tid, None)
            for each in {tid, ptrace.event_message(tid)}:
                _stop_all(threads, breakpoint_ends.ended(threads, each))
        if tid in threads.breakpoints:
            if event and ptrace.has_run_onto(tid, threads.breakpoints[tid][0]):
                # Its SIGTRAP is still to come, and must not be delivered.
                threads.ptrace(ptrace.CONT, tid, 0, 0)
                return
            if events.remove_breakpoint(threads, tid) and number == signal.SIGTRAP:
                number = 0
        if threads.spaces.by_tid and event not in events.FORKS:
            number_left = breakpoint_ends.leave(threads, tid, event, number)
            if number_left < 0:
                threads.ptrace(ptrace.CONT, tid, 0, 0)
                return
            number = number_left
    if (
        event == ptrace.EVENT_STOP
        and number in events.GROUP_STOPS
        and not (threads.is_free(tid) and not _has_slots(threads, tid))
    ):
        threads.ptrace(ptrace.LISTEN, tid, 0, 0)
    elif number == signal.SIGTRAP | 0x80 and threads.is_free(tid) and not has_gone_on and _fails_by_a_stop(tid):
        threads.ptrace(ptrace.INTERRUPT, tid, 0, 0)
        threads.ptrace(ptrace.CONT, tid, 0, 0)
    elif event or number == signal.SIGTRAP | 0x80:
        _let_go(threads, tid, 0, event == ptrace.EVENT_STOP and number == signal.SIGTRAP)
    else:
        threads.notifications.begin_again(tid)
        unbegun.begin(tid, number)
        if tid in threads.renewed or tid in threads.unfinished:
            interruptions.signalled(threads, tid, number)
        _let_go(threads, tid, 0 if interruptions.is_extra(threads, tid, number) else number)


def _unmapped(threads: TracedThreads, tid: int, is_at_rest: bool) -> bool:
    """Have the slots unmapped, where the stopped thread is the last that may have been in them; whether they are gone.
    If it cannot do so yet it stops again."""
    if not is_at_rest:
        threads.ptrace(ptrace.INTERRUPT, tid, 0, 0)
        return False
    space = threads.spaces.by_tid[tid]
    try:
        if breakpoint_ends.unmap(threads, tid):
            return False
    except injection.ThreadEndedError as error:
        threads.ended_early.append((tid, error.args[0]))
    except OSError:
        return True
    _stop_all(threads, [each for each, other in threads.spaces.by_tid.items() if other is space and each != tid])
    return True


def _fails_by_a_stop(tid: int) -> bool:
    """Whether a call that the thread leaves has failed or been cut short."""
    try:
        return interruptions.is_failing(tid) or unfinished.rest(tid) is not None
    except OSError:
        return False


def _made(threads: TracedThreads, tid: int, made: int, event: int) -> None:
    """A child is traced as its maker is."""
    is_free = threads.is_free(tid)
    threads.requests[made] = ptrace.SYSCALL if is_free else ptrace.CONT
    untraced_makers.made(threads, tid, made)
    breakpoint_ends.clean(threads, tid, made, shared_memory.is_shared(tid, made, event))
    if is_free or _has_slots(threads, made):
        threads.ptrace(ptrace.INTERRUPT, made, 0, 0)


def _adopt(threads: TracedThreads, tid: int) -> None:
    """A child has stopped before its maker has told of it: what was copied from its maker's memory is taken out before
    it runs. When the maker tells it may have run on, and have another program."""
    maker = breakpoint_ends.clean_early(threads, tid)
    untraced_makers.adopt(threads, maker, tid)
    threads.requests[tid] = ptrace.SYSCALL if maker and threads.is_free(maker) else ptrace.CONT


def _let_go(threads: TracedThreads, tid: int, deliver: int, is_at_rest: bool = False) -> None:
    """The stopped thread runs on: for good if there is no filter. `is_at_rest`: it can make a system call."""
    if tid in threads.spaces.by_tid:
        with suppress(OSError):
            signals_in_slots.resume(threads.spaces.by_tid[tid], tid)
        if _has_slots(threads, tid) and not _unmapped(threads, tid, is_at_rest):
            threads.ptrace(ptrace.CONT, tid, 0, deliver)
            return
    must_stop = not _is_without_trap(threads, tid, is_at_rest)
    in_call = (threads.installing, threads.amended, threads.unfinished)
    if tid == threads.notifications.awaited or any(tid in each for each in in_call):
        # It may have got its filter, and wait for ever if nobody reads the listener.
        threads.ptrace(ptrace.SYSCALL, tid, 0, deliver)
    else:
        is_free = threads.is_free(tid) and not must_stop
        threads.ptrace(ptrace.DETACH if is_free else ptrace.CONT, tid, 0, deliver)


def _is_without_trap(threads: TracedThreads, tid: int, is_at_rest: bool) -> bool:
    """Whether the stopped thread has no signal of a clock left to get: such a one is taken out if the thread is at
    rest, else the thread stops again."""
    if threads.traps is None or not threads.traps.is_pending(tid):
        return True
    if not is_at_rest:
        threads.ptrace(ptrace.INTERRUPT, tid, 0, 0)
        return False
    try:
        threads.traps.take_out(tid)
    except injection.ThreadEndedError as error:
        threads.ended_early.append((tid, error.args[0]))
    except OSError:
        return True
    return True
