"""Breakpoints taken out of all memories when sonde has ended, and threads brought to where they would be without."""

from __future__ import annotations

import signal

from sonde.arch import instructions, registers
from sonde.engines.embedded.tracer import ptrace, shared_memory, signals_in_slots
from sonde.engines.embedded.tracer.threads import TracedThreads
from sonde.machine import proc

_U64 = 0xFFFF_FFFF_FFFF_FFFF


def restore(threads: TracedThreads) -> None:
    """To be called before any thread is let go."""
    threads.spaces.want(())
    for space in threads.spaces.all():
        space.restore()


def clean_early(threads: TracedThreads, tid: int) -> int:
    """Clean what was made and has stopped before its maker has told of it; the maker, 0 if it is gone."""
    try:
        found = proc.status(tid)
    except OSError:
        # It has ended.
        return 0
    is_thread = found["Tgid"] != str(tid)
    maker = int(found["Tgid" if is_thread else "PPid"])
    if threads.spaces.are_any:
        threads.spaces.adopted(tid, is_thread, maker, shared_memory.is_shared(maker, tid, 0))
        if tid in threads.spaces.by_tid:
            threads.spaces.by_tid[tid].restore()
    return maker


def clean(threads: TracedThreads, maker: int, made: int, is_shared: bool) -> None:
    """What was made has the maker's memory, or one that was copied while breakpoints were in it."""
    if maker in threads.spaces.by_tid:
        threads.spaces.forked(maker, made, is_shared)
        if made in threads.spaces.by_tid:
            threads.spaces.by_tid[made].restore()


def unmap(threads: TracedThreads, tid: int) -> bool:
    """The stopped thread is in no slot, and will come into none: if that goes for all with its memory, it unmaps them.
    Whether others are to do so first. Raises OSError, injection.ThreadEndedError."""
    space = threads.spaces.by_tid[tid]
    threads.outside.add(tid)
    if not {each for each, other in threads.spaces.by_tid.items() if other is space} <= threads.outside:
        return True
    space.unmap(tid)
    return False


def ended(threads: TracedThreads, tid: int) -> list[int]:
    """A thread is gone, or has another memory: those that may have waited for it, to be stopped once more."""
    space = threads.spaces.by_tid.get(tid)
    threads.spaces.forget(tid)
    threads.outside.discard(tid)
    if space is None or not space.has_slots:
        return []
    return [each for each, other in threads.spaces.by_tid.items() if other is space]


def leave(threads: TracedThreads, tid: int, event: int, number: int) -> int:
    """Bring a stopped thread, which `event` or signal `number` has stopped, to where it is to go on: the signal that it
    gets, -1 if it has to run on until it stops for a breakpoint that it has run onto. Raises OSError."""
    space = threads.spaces.by_tid.get(tid)
    if space is None:
        return number
    counter = ptrace.call(ptrace.PEEKUSER, tid, registers.PROGRAM_COUNTER) & _U64
    is_trap = not event and number == signal.SIGTRAP
    at = counter - instructions.BREAKPOINT_SIZE
    if at in space.former and not space.is_own(at):
        if is_trap:
            # A program that had copied its code while the breakpoint was there has put it back.
            space.put_back(at)
            ptrace.call(ptrace.POKEUSER, tid, registers.PROGRAM_COUNTER, at)
            return 0
        if event and _waits(tid, signal.SIGTRAP):
            return -1
    if counter in space.resumptions:
        if event or is_trap:
            signals_in_slots.resume(space, tid)
            return 0 if is_trap else number
        signals_in_slots.leave(threads, tid, number)
    return number


def _waits(tid: int, number: int) -> bool:
    """Whether the signal is pending for the thread."""
    return bool(int(proc.status(tid)["SigPnd"], 16) >> number - 1 & 1)
