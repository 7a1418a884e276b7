"""The most frequent stops with the fewest steps: system calls that are told while the thread runs on, or not at all.

A tracer takes its target's time at each stop. So what is decided by the stop alone is done here, in one function for
each kind of stop; the kernel writes what it knows of the call straight into the ring, where it stays if it is told.
Everything else is left to calls.py, which finds the stop as it was.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from mmap import mmap

from sonde.arch import system_calls
from sonde.engines.embedded.tracer import call_stops, ptrace, samples, seccomp, stops
from sonde.engines.embedded.tracer.plan import ENTRY, HOLD_ENTRY, HOLD_RETURN, RETURN
from sonde.engines.embedded.tracer.threads import TracedThreads
from sonde.machine.system import monotonic_ns
from sonde.typed import NamedTuple

_HEADER_WORDS = stops.INFO_OFFSET // 8
_NUMBER, _DATA = 3, 10
"""Words of struct ptrace_syscall_info (ptrace.INFO_SIZE)."""


class Quick(NamedTuple):
    """Handlers of a thread's stop: by a filter, and at entries to and exits from system calls."""

    filtered: Callable[[int], None]
    called: Callable[[int], None]


def prepared(threads: TracedThreads, memory: mmap) -> Quick:
    """Handlers for these threads; `memory` is where their ring is."""
    look, tell = _looker(threads, memory), _teller(threads, memory)
    return Quick(_filtered(threads, look, tell), _called(threads, look, tell))


def _looker(threads: TracedThreads, memory: mmap) -> Callable[[int], int]:
    """A function that has the kernel write what it knows of a thread's system call into the next record: the place of
    that among the words of the memory. 0 if there is more to be asked than that, or if the thread is gone."""
    ask, writer, slots = threads.ptrace, threads.writer, threads.writer.slots
    repeating = threads.repeating
    get, info_size, size = ptrace.GET_SYSCALL_INFO, ptrace.INFO_SIZE, stops.SIZE
    info = ctypes.c_void_p()
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + stops.RING + stops.INFO_OFFSET
    first, words = stops.RING // 8 + _HEADER_WORDS, stops.SIZE // 8

    def look(tid: int) -> int:
        if repeating or not threads.tracing or threads.fetcher is not None or writer.head >= writer.full:
            return 0
        slot = writer.head % slots
        info.value = start + slot * size
        return 0 if ask(get, tid, info_size, info) < 0 else first + slot * words

    return look


def _teller(threads: TracedThreads, memory: mmap) -> Callable[[int, int, int, int, int], None]:
    """A function that completes a thread's record and lets it go on: first this, as the thread may run on another CPU
    while that is done, unless the notifier could tell of what it does next before the record is there (merging.py)."""
    ask, writer, clock, notifications = threads.ptrace, threads.writer, monotonic_ns, threads.notifications
    words, octets, pack = writer.words, memoryview(memory), stops.HEADER.pack_into
    rest, head_word, header_size, getppid = stops.REST, stops.HEAD, stops.INFO_OFFSET, os.getppid

    def tell(tid: int, at: int, kind: int, a: int, request: int) -> None:
        when = clock()
        if not notifications.numbers:
            ask(request, tid, 0, 0)
            threads.stopped = 0
        pack(octets, at * 8 - header_size, kind, 0, tid, when, a, 0, 0)
        writer.head = words[head_word] = writer.head + 1
        if threads.stopped:
            ask(request, tid, 0, 0)
            threads.stopped = 0
        else:
            getppid()
        if words[rest]:
            writer.wake()

    return tell


def _filtered(
    threads: TracedThreads, look: Callable[[int], int], tell: Callable[[int, int, int, int, int], None]
) -> Callable[[int], None]:
    ask, words, inside = threads.ptrace, threads.writer.words, threads.inside
    turning, stepping = threads.turning, threads.stepping
    entry, go, step = stops.ENTRY, ptrace.CONT, ptrace.SYSCALL

    def filtered(tid: int) -> None:
        at = look(tid)
        # Another filter's data has not the mark, which leaves more bits than those of what is wanted.
        wanted = words[at + _DATA] & 0xFFFF ^ threads.plan.mark if at else HOLD_ENTRY
        if tid in stepping or tid in turning:
            call_stops.filtered(threads, tid)
        elif wanted == ENTRY:
            tell(tid, at, entry, 0, go)
        elif wanted & HOLD_ENTRY or wanted > seccomp.WANTED:
            call_stops.filtered(threads, tid)
        else:
            inside[tid] = words[at + _NUMBER] << 4 | wanted
            if wanted & ENTRY:
                tell(tid, at, entry, 0, step)
            else:
                ask(step, tid, 0, 0)
                threads.stopped = 0

    return filtered


def _called(
    threads: TracedThreads, look: Callable[[int], int], tell: Callable[[int, int, int, int, int], None]
) -> Callable[[int], None]:
    ask, words, inside, requests = threads.ptrace, threads.writer.words, threads.inside, threads.requests
    installing, turning, amended = threads.installing, threads.turning, threads.amended
    unfinished, is_asked = threads.unfinished, samples.is_asked
    entry, back, go, step = stops.ENTRY, stops.RETURN, ptrace.CONT, ptrace.SYSCALL
    makers = frozenset((system_calls.CLONE, seccomp.clone3()))
    native, entering, leaving = system_calls.AUDIT_ARCHITECTURE, ptrace.INFO_ENTRY, ptrace.INFO_EXIT

    def called(tid: int) -> None:
        wanted = inside.get(tid, -1)
        if tid in installing or tid in turning or tid in unfinished or tid in amended or is_asked(threads, tid):
            call_stops.called(threads, tid)
            return
        if wanted == 0 and threads.tracing:
            del inside[tid]
            ask(requests.get(tid, go), tid, 0, 0)
            threads.stopped = 0
            return
        at = look(tid) if wanted < 0 or not wanted & HOLD_RETURN else 0
        if not at:
            call_stops.called(threads, tid)
        elif wanted >= 0 and words[at] & 0xFF == leaving:
            del inside[tid]
            tell(tid, at, back, wanted >> 4, requests.get(tid, go))
        elif wanted < 0 and words[at] & 0xFF == entering and words[at] >> 32 == native:
            enters(tid, at)
        else:
            call_stops.called(threads, tid)

    def enters(tid: int, at: int) -> None:
        number = words[at + _NUMBER]
        wanted = threads.wanted.get(number, 0)
        if wanted & HOLD_ENTRY or number in makers:
            call_stops.called(threads, tid)
            return
        inside[tid] = number << 4 | wanted if wanted & RETURN else 0
        if wanted & ENTRY:
            tell(tid, at, entry, 0, step)
        else:
            ask(step, tid, 0, 0)
            threads.stopped = 0

    return called
