"""The trace events whose records tracepoint programs of this engine have as their context: those of system calls.

As the kernel's format files describe them (kernel/trace/trace_syscalls.c, include/trace/events/syscalls.h): behind 8
bytes that programs may not read the number of the call, then its arguments or its result, a word each.
"""

from __future__ import annotations

from sonde.arch.call_numbers import declared
from sonde.typed import NamedTuple

_ALL, _ONE = "raw_syscalls", "syscalls"
_MOST_ARGUMENTS = 6
_ENTRY, _RETURN = "sys_enter", "sys_exit"

NUMBER_AT, WORDS_AT = 8, 16


class TraceEvent(NamedTuple):
    """`tracepoint` is the one that makes the event happen, `number` the system call that it is of, None for all calls;
    `words` is how many there are behind the number, which has `number_size` bytes."""

    tracepoint: str
    number: int | None
    words: int
    number_size: int = 8

    @property
    def identifier(self) -> int:
        """By which perf events are opened for it (attr.config)."""
        return 2 * (0 if self.number is None else 1 + self.number) + self.is_return

    @property
    def is_return(self) -> bool:
        return self.tracepoint == _RETURN

    @property
    def size(self) -> int:
        """Bytes of the record."""
        return WORDS_AT + 8 * self.words


_OF_ALL = {_ENTRY: TraceEvent(_ENTRY, None, _MOST_ARGUMENTS), _RETURN: TraceEvent(_RETURN, None, 1)}


def trace_event(group: str, name: str) -> TraceEvent | None:
    """The event of that name, None if the engine does not have it."""
    if group == _ALL:
        return _OF_ALL.get(name)
    if group != _ONE:
        return None
    for tracepoint in (_ENTRY, _RETURN):
        call = declared().get(name.removeprefix(f"{tracepoint}_")) if name.startswith(f"{tracepoint}_") else None
        if call is not None:
            words = 1 if tracepoint == _RETURN else len(call.arguments)
            return TraceEvent(tracepoint, call.number, words, 4)
    return None


def event_numbered(identifier: int) -> TraceEvent | None:
    """The event of that identifier, None if the engine has none such."""
    call, is_return = divmod(identifier, 2)
    tracepoint = _RETURN if is_return else _ENTRY
    if not call:
        return _OF_ALL[tracepoint]
    found = next((each for each in declared().values() if each.number == call - 1), None)
    if found is None:
        return None
    return TraceEvent(tracepoint, found.number, 1 if is_return else len(found.arguments), 4)
