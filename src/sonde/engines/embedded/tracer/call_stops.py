"""Stops of system calls: by a filter, or at each entry and exit."""

from __future__ import annotations

from contextlib import suppress

from sonde.arch import registers, system_calls
from sonde.bpf.helpers import MAX_ERRNO
from sonde.engines.embedded.tracer import (
    interruptions,
    own_filters,
    ptrace,
    samples,
    seccomp,
    stops,
    trap_action,
    untraced_makers,
)
from sonde.engines.embedded.tracer.plan import ENTRY, FOLLOWED, HOLD_ENTRY, HOLD_RETURN, MAPPING, RETURN
from sonde.engines.embedded.tracer.threads import TracedThreads

_U32, _U64 = 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF
_EXECUTE = 4
"""PROT_EXEC of mmap(2)."""

_OPERATION, _NUMBER = 0, 3
"""Words of struct ptrace_syscall_info: operation and, 32 bits up, architecture; a call's number."""


"""restart_syscall(2), by which the kernel goes on with a call that has to know how long it has waited."""


def filtered(threads: TracedThreads, tid: int) -> None:
    """A filter stopped the thread at a system call: the filter's data says what is wanted of it."""
    data = own_filters.data_of_stop(threads, tid)
    if data is None or not threads.tracing or tid in threads.stepping or samples.is_moving_piece(threads, tid):
        # One that steps has told of the call when it entered it.
        threads.proceed(tid)
        return
    words = threads.writer.info_words
    wanted = data & seccomp.WANTED
    if wanted & RETURN:
        threads.inside[tid] = words[_NUMBER] << 4 | wanted
    if threads.repeating and words[_NUMBER] in (threads.repeating.pop(tid, -1), system_calls.RESTART):
        threads.proceed(tid)
    elif wanted & ENTRY:
        threads.tell_entry(tid, wanted & HOLD_ENTRY)
    else:
        threads.proceed(tid)


def called(threads: TracedThreads, tid: int) -> None:
    """The thread enters or leaves a system call."""
    if tid == threads.notifications.awaited:
        threads.notifications.look(tid, threads.plan.notified)
    if tid in threads.unfinished and samples.called(threads, tid):
        return
    if tid in threads.installing:
        own_filters.installed(threads, tid)
    untraced_makers.put_back(threads, tid)
    wanted = threads.inside.pop(tid, None)
    if (
        (wanted == 0 and not samples.is_asked(threads, tid))
        or not threads.tracing
        or threads.ptrace(ptrace.GET_SYSCALL_INFO, tid, ptrace.INFO_SIZE, threads.info) < 0
    ):
        threads.proceed(tid)
    elif threads.writer.info_words[_OPERATION] & 0xFF == ptrace.INFO_ENTRY:
        _enters(threads, tid)
    else:
        _leaves(threads, tid, wanted)


def _enters(threads: TracedThreads, tid: int) -> None:
    """The plan says what is wanted, for calls of this architecture."""
    words = threads.writer.info_words
    number = words[_NUMBER]
    untraced_makers.entered(threads, tid)
    again = threads.repeating.pop(tid, -1) if threads.repeating else -1
    repeats = again >= 0 and number in (again, system_calls.RESTART)
    if repeats:
        number = again
    wanted = threads.wanted.get(number, 0) if words[_OPERATION] >> 32 == system_calls.AUDIT_ARCHITECTURE else 0
    threads.inside[tid] = number << 4 | wanted if wanted & RETURN else 0
    if wanted & ENTRY and not repeats:
        threads.tell_entry(tid, wanted & HOLD_ENTRY)
    else:
        threads.proceed(tid)


def _mapped(threads: TracedThreads, tid: int, number: int, result: int) -> bool:
    """The thread has mapped something, or may execute more: what is wanted there is put in before it goes on. Whether
    there may be more code."""
    if -MAX_ERRNO <= result < 0:
        return False
    space = threads.spaces.by_tid.get(tid)
    with suppress(OSError):
        given = [ptrace.call(ptrace.PEEKUSER, tid, place) for place in registers.CALL_ARGUMENTS[1:5]]
        size, protection, _, file = given
        if space is not None:
            if number == system_calls.MMAP:
                space.without(result & _U64, (result & _U64) + size)
            if (number == system_calls.MMAP and file & _U32 != _U32) or protection & _EXECUTE:
                threads.spaces.look(tid, space.pid)
        return bool(protection & _EXECUTE)
    return False


def _leaves(threads: TracedThreads, tid: int, wanted: int | None) -> None:
    """`wanted` is None where the thread was in the call when tracing began."""
    if wanted is None and threads.writer.info_words[_OPERATION] >> 32 == system_calls.AUDIT_ARCHITECTURE:
        number = ptrace.called(tid)
        wanted = number << 4 | threads.wanted.get(number, 0)
    result = threads.writer.info_words[_NUMBER] - (1 << 64)
    if samples.is_asked(threads, tid) and samples.cuts_short(threads, tid, ptrace.result(tid)):
        threads.proceed(tid)
    elif result >= -MAX_ERRNO and interruptions.is_to_be_repeated(threads, tid, result):
        interruptions.ask_again(threads, tid)
        threads.proceed(tid)
    elif wanted is not None and wanted & RETURN:
        number, is_more = wanted >> 4, False
        if threads.plan.maps and number in FOLLOWED:
            if number in MAPPING:
                is_more = _mapped(threads, tid, number, result) and stops.MAPPED in threads.plan.events
            elif tid in threads.spaces.by_tid and result < -MAX_ERRNO:
                with suppress(OSError):
                    trap_action.changed(tid, threads.spaces.by_tid[tid])
            wanted = threads.plan.calls.get(number, 0)
        if is_more and wanted & RETURN:
            threads.note(tid, stops.MAPPED)
        if wanted & RETURN:
            holds = is_more and stops.MAPPED in threads.plan.held
            threads.tell(tid, stops.RETURN, holds or wanted & HOLD_RETURN, number)
        elif is_more:
            threads.tell(tid, stops.MAPPED, stops.MAPPED in threads.plan.held)
        else:
            threads.proceed(tid)
    else:
        threads.proceed(tid)
