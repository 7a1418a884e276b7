"""System calls that a stop of the guardian's own has cut short: they go on, and return what they would have returned.

A call that moves many bytes returns those that it has moved where it would wait and its thread is to stop: a write to a
pipe that is full, for instance. Programs know that a signal does that, and many do not expect it where there is none.
So the call is made once more, as -ERESTARTNOINTR has the kernel do, with what is left for its arguments. When it
returns, registers and memory are put back, and the result is the sum. If a signal comes first the result is what was
moved by then, as it would be without a tracer.
"""

from __future__ import annotations

import os
from contextlib import suppress

from sonde.arch import registers, system_calls
from sonde.engines.embedded.tracer import ptrace
from sonde.model.units import WORD
from sonde.typed import NamedTuple

_RESTARTNOINTR = 513
_MSG_WAITALL = 0x100
"""Of recv(2): it waits for all that was asked for (include/linux/socket.h)."""

_IOVEC = 16
_MOST_PIECES = 1024
"""IOV_MAX."""

_MSG_IOV, _MSG_IOVLEN, _MSG_CONTROLLEN = 16, 24, 40
"""Members of struct user_msghdr."""

_ENDLESS = ("/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_SOCKET, _PIPE, _TERMINAL, _PSEUDOTERMINAL = "socket:", "pipe:", "/dev/tty", "/dev/pts/"
"""What files are called in /proc/TID/fd that have no name of their own, and terminals."""


_Words = dict[int, int]
"""By place among the registers, or by address: what is to be there."""


class Unfinished(NamedTuple):
    """A call that has been made once more: bytes moved before, what it got for arguments by their place among the
    registers, and what was in words of memory."""

    done: int
    arguments: tuple[tuple[int, int], ...]
    words: tuple[tuple[int, int], ...] = ()


class Rest(NamedTuple):
    """What is left of a call: what was moved, and what registers and words of memory are to have."""

    done: int
    arguments: _Words
    words: _Words


def rest(tid: int) -> Rest | None:
    """Of the call that the stopped thread leaves, if that was cut short. Raises OSError."""
    number, done = ptrace.called(tid), ptrace.result(tid)
    if number not in system_calls.MOVING or done <= 0:
        return None
    given = [ptrace.peek_user(tid, place) for place in registers.CALL_ARGUMENTS]
    if not _waits_for_all(tid, number, given):
        return None
    left = _left(tid, number, given, done)
    if left is None:
        return None
    arguments, words = left
    return Rest(done, {registers.CALL_ARGUMENTS[place]: value for place, value in arguments.items()}, words)


def go_on(tid: int, left: Rest) -> Unfinished:
    """Have the call made once more for that. The thread stands for nothing but the guardian. Raises OSError."""
    before = Unfinished(
        left.done,
        tuple((place, ptrace.peek_user(tid, place)) for place in left.arguments),
        tuple((address, ptrace.peek(tid, address)) for address in left.words),
    )
    for address, value in left.words.items():
        ptrace.call(ptrace.POKEDATA, tid, address, value)
    for place, value in left.arguments.items():
        ptrace.call(ptrace.POKEUSER, tid, place, value)
    ptrace.call(ptrace.POKEUSER, tid, registers.CALL_RESULT, -_RESTARTNOINTR)
    return before


def finish(tid: int, call: Unfinished) -> None:
    """The thread leaves the call, or a signal is to be delivered before that has been made once more."""
    with suppress(OSError):
        for address, word in reversed(call.words):
            ptrace.call(ptrace.POKEDATA, tid, address, word)
        for place, value in call.arguments:
            ptrace.call(ptrace.POKEUSER, tid, place, value)
        more = max(ptrace.result(tid), 0)
        ptrace.call(ptrace.POKEUSER, tid, registers.CALL_RESULT, call.done + more)


def _waits_for_all(tid: int, number: int, given: list[int]) -> bool:
    """Whether the call waits until all is moved, if nothing happens. What a read of most files returns is what is
    there, and a pipe gets from sendfile(2) what it has room for."""
    if number == system_calls.GETRANDOM:
        return True
    if number == system_calls.RECVFROM:
        return bool(given[3] & _MSG_WAITALL)
    try:
        # What it is called: nobody who serves it is asked.
        name = os.readlink(f"/proc/{tid}/fd/{given[0] & 0xFFFFFFFF}")
    except OSError:
        return False
    if number == system_calls.READ:
        return name in _ENDLESS
    if number == system_calls.SENDFILE:
        return name.startswith(_SOCKET)
    return name.startswith((_SOCKET, _PIPE, _TERMINAL, _PSEUDOTERMINAL))


def _left(tid: int, number: int, given: list[int], done: int) -> tuple[_Words, _Words] | None:
    """What the call is to have for arguments, by their number, and in words of memory, for what is left; None if
    nothing is. Raises OSError."""
    data, size = system_calls.MOVING[number]
    if number == system_calls.SENDMSG:
        header = given[1]
        vector, count = ptrace.peek(tid, header + _MSG_IOV), ptrace.peek(tid, header + _MSG_IOVLEN)
        found = _rest_of_vector(tid, vector, count, done)
        if found is None:
            return None
        vector, count, words = found
        # Descriptors have gone with the first byte.
        words |= {header + _MSG_IOV: vector, header + _MSG_IOVLEN: count, header + _MSG_CONTROLLEN: 0}
        return {}, words
    if number == system_calls.WRITEV:
        found = _rest_of_vector(tid, given[data], given[size], done)
        return None if found is None else ({data: found[0], size: found[1]}, found[2])
    if done >= given[size]:
        return None
    changed = {size: given[size] - done}
    if data >= 0:
        changed[data] = given[data] + done
    return changed, {}


def _rest_of_vector(tid: int, vector: int, count: int, done: int) -> tuple[int, int, _Words] | None:
    """Where the pieces begin that are left, how many they are, and how the first of them changes; None if none is left.
    Raises OSError."""
    for number in range(min(count, _MOST_PIECES)):
        at = vector + number * _IOVEC
        start, size = ptrace.peek(tid, at), ptrace.peek(tid, at + WORD)
        if done < size:
            words = {at: start + done, at + WORD: size - done} if done else {}
            return at, count - number, words
        done -= size
    return None
