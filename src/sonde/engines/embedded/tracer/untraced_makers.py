"""Calls that are to make a process or thread which is not traced (CLONE_UNTRACED): they make one that is, as sonde's
filter and breakpoints, which it has as well, would be the end of it.

The flag of clone(2) is in a register, that of clone3(2) in memory, which may be other threads' too, and read-only. So
clone3 has a copy below the stack, until it has read it. Registers are put back in the maker at the call's exit, and in
what it has made at the first stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from sonde.arch import registers, system_calls
from sonde.engines.embedded.tracer import ptrace, seccomp
from sonde.engines.embedded.tracer.threads import AmendedCall, TracedThreads

_NUMBER = 3
"""The word of struct ptrace_syscall_info with a call's number, before its arguments."""

_LEAST, _MOST = 64, 4096
"""Bytes that a struct clone_args has at least and at most; its flags come first."""

_BELOW = 1024
"""Bytes below the stack pointer: leaf functions use the red zone, which no ABI has larger."""

_FIRST = registers.CALL_ARGUMENTS[0]


def entered(threads: TracedThreads, tid: int) -> None:
    """The thread enters the call that `threads.writer` has asked about: as long as it is in there, `amended` has what
    was changed. Where nothing can be changed the call is left as it is."""
    number, first, size = threads.writer.info_words[_NUMBER : _NUMBER + 3]
    with suppress(OSError):
        if number == system_calls.CLONE and first & seccomp.UNTRACED:
            ptrace.call(ptrace.POKEUSER, tid, _FIRST, first & ~seccomp.UNTRACED)
            threads.amended[tid] = AmendedCall(first)
        elif (
            number == seccomp.clone3()
            and _LEAST <= size <= _MOST
            and (flags := ptrace.peek(tid, first)) & seccomp.UNTRACED
        ):
            _copy_arguments(threads, tid, first, size, flags & ~seccomp.UNTRACED)


def _copy_arguments(threads: TracedThreads, tid: int, first: int, size: int, flags: int) -> None:
    """Raises OSError, with the memory as it was."""
    place = ptrace.peek_user(tid, registers.STACK_POINTER) - _BELOW - size & ~15
    # The last word may begin in the one before.
    offsets = [*range(0, size - 7, 8), size - 8]
    words = [flags, *(ptrace.peek(tid, first + each) for each in offsets[1:])]
    kept: list[tuple[int, int]] = []
    try:
        for offset, word in zip(offsets, words, strict=True):
            kept.append((place + offset, ptrace.peek(tid, place + offset)))
            ptrace.call(ptrace.POKEDATA, tid, place + offset, word)
        ptrace.call(ptrace.POKEUSER, tid, _FIRST, place)
    except OSError:
        _restore(tid, kept)
        raise
    threads.amended[tid] = AmendedCall(first, tuple(kept))


def made(threads: TracedThreads, maker: int, tid: int) -> None:
    """The maker stops and tells of what it has made: the kernel has read the arguments."""
    found = threads.amended.get(maker)
    if found is not None:
        _restore(maker, found.kept)
        threads.amended[maker] = threads.amended[tid] = AmendedCall(found.first)


def adopt(threads: TracedThreads, maker: int, tid: int) -> None:
    """What the maker has made stops for the first time, and goes on before the maker tells of it."""
    found = threads.amended.get(maker)
    if found is not None:
        threads.amended[tid] = AmendedCall(found.first)
        put_back(threads, tid)


def put_back(threads: TracedThreads, tid: int) -> None:
    """The maker leaves its call, or what it has made stops for the first time."""
    found = threads.amended.pop(tid, None)
    if found is not None:
        _restore(tid, found.kept)
        with suppress(OSError):
            ptrace.call(ptrace.POKEUSER, tid, _FIRST, found.first)


def _restore(tid: int, kept: Sequence[tuple[int, int]]) -> None:
    with suppress(OSError):
        for place, word in reversed(kept):
            ptrace.call(ptrace.POKEDATA, tid, place, word)
