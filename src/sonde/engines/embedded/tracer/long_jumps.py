"""Calls that a thread leaves by longjmp(3): what they return to is no return of theirs, though the thread may come
there with their stack pointer, and the return address is still below it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonde.arch import long_jumps
from sonde.engines.embedded.tracer.awaited_returns import AwaitedReturns
from sonde.engines.embedded.tracer.code_space import CodeSpace


def left(space: CodeSpace, tid: int, calls: Sequence[AwaitedReturns], buffer: int, thread: int, stack: int) -> None:
    """The thread, with this thread pointer and stack pointer, is about to go to where the jmp_buf at `buffer` says: the
    calls in between are awaited no more, whichever threads they began in. Who goes to another stack leaves none. Raises
    OSError."""
    data = space.read(buffer, long_jumps.BUFFER_SIZE)
    guard = int.from_bytes(space.read(thread + long_jumps.GUARD, 8), "little")
    if len(data) < long_jumps.BUFFER_SIZE:
        return
    targets = [each for each in long_jumps.targets(data, guard) if any(of.has_between(stack, each[0]) for of in calls)]
    if not targets:
        return
    mappings = space.mappings(tid)
    own = next((each for each in mappings if each.start <= stack < each.end), None)
    for there, counter in targets:
        is_code = any(each.start <= counter < each.end and each.executable for each in mappings)
        if is_code and own is not None and own.start <= there <= own.end:
            for each in calls:
                each.forget_between(stack, there)
            return
