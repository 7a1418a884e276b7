"""Functions of traced threads that have been entered and have not returned.

A call is known by where its return address lies: the stack may be any, as those of coroutines and of signal handlers
are, and is nowhere compared with others. As long as the call lives that word is as the call has put it there. Of one
that longjmp or an exception has left the word is sooner or later another: it is forgotten as soon as that is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from sonde.arch import convention
from sonde.typed import NamedTuple

_MANY = 1024
"""So many calls of a thread are looked through for those that were left; then as many again."""


class AwaitedReturn(NamedTuple):
    """A function that has not returned: where it returns to, the stack pointer behind that, the number of its site, and
    whether its return is held."""

    address: int
    stack: int
    number: int
    held: int


_Read = Callable[[int, int], bytes]
"""What is at an address of the thread's memory, so many bytes. Raises OSError."""


def is_left(call: AwaitedReturn, read: _Read) -> bool:
    """Whether the return address is not there any more."""
    with suppress(OSError):
        return int.from_bytes(read(call.stack - convention.STACK_ARGUMENTS, 8), "little") != call.address
    return True


class AwaitedReturns:
    """The calls of one thread, by the stack pointer behind their returns, the latest last; of several with the same
    one, each but the first was jumped to at the end of the one before."""

    def __init__(self, calls: dict[int, list[AwaitedReturn]] | None = None) -> None:
        self._calls = calls or {}
        self.are_copied = calls is not None
        self._many = _MANY

    def __len__(self) -> int:
        return len(self._calls)

    def copy(self) -> AwaitedReturns:
        """Those of a thread that has a copy of this one's memory."""
        return AwaitedReturns({stack: list(each) for stack, each in self._calls.items()})

    def take(self, others: AwaitedReturns) -> None:
        """Those of a thread that has ended: a coroutine may have begun in it."""
        if not others.are_copied:
            self._calls = {**others._calls, **self._calls}

    def add(self, call: AwaitedReturn, read: _Read) -> None:
        """A function is entered. Another with the same return address in the same place has jumped to it, unless it is
        the same function: that has been left, as has all that had another return address there."""
        found = [
            each
            for each in self._calls.pop(call.stack, ())
            if each.address == call.address and each.number != call.number
        ]
        self._forget_latest(call.stack, read)
        self._calls[call.stack] = [*found, call]
        if len(self._calls) > self._many:
            self._calls = {stack: each for stack, each in self._calls.items() if not is_left(each[-1], read)}
            self._many = max(_MANY, 2 * len(self._calls))

    def _forget_latest(self, stack: int, read: _Read) -> None:
        """The latest calls, if they lie below this one, were left or wait on another stack."""
        while self._calls:
            latest = next(reversed(self._calls))
            if latest > stack or not is_left(self._calls[latest][-1], read):
                return
            del self._calls[latest]

    def has_between(self, below: int, stack: int) -> bool:
        """Whether there are calls that a thread with the stack pointer `below` leaves if it goes to `stack`."""
        return any(below < each <= stack for each in self._calls)

    def forget_between(self, below: int, stack: int) -> None:
        """They are left."""
        for each in [each for each in self._calls if below < each <= stack]:
            del self._calls[each]

    def returned(self, address: int, stack: int) -> list[AwaitedReturn]:
        """The calls that return to this address with this stack pointer, the latest first: they are awaited no more."""
        found = self._calls.get(stack)
        if not found or found[-1].address != address:
            return []
        del self._calls[stack]
        return found[::-1]


def returned_in_any(of: Iterable[AwaitedReturns], address: int, stack: int) -> list[AwaitedReturn]:
    """The same, of the first of these threads that has any: coroutines return in other threads than they were called
    in."""
    for each in of:
        if found := each.returned(address, stack):
            return found
    return []
