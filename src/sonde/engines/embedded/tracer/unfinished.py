"""System calls that a stop of the guardian's own has cut short: they go on, and return what they would have returned.

A call that moves many bytes returns those that it has moved where it would wait and its thread is to stop: a write to a
pipe that is full, for instance. Programs know that a signal does that, and many do not expect it where there is none.
So the call is made once more, as -ERESTARTNOINTR has the kernel do, with what is left for its arguments. When it
returns, the registers are put back, and the result is the sum. If a signal comes first the result is what was moved by
then, as it would be without a tracer.

Nothing in memory is changed, which other threads may look at: what is left of a vector is moved piece by piece, each by
a call that has one piece in its registers.
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

_MSG_IOV, _MSG_IOVLEN = 16, 24
"""Members of struct user_msghdr."""

_ENDLESS = ("/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_SOCKET, _PIPE, _TERMINAL, _PSEUDOTERMINAL = "socket:", "pipe:", "/dev/tty", "/dev/pts/"
"""What files are called in /proc/TID/fd that have no name of their own, and terminals."""

_READING = (system_calls.READ, system_calls.PREAD64, system_calls.READV, system_calls.PREADV)
_REGISTERS = (registers.CALL_NUMBER, *registers.CALL_ARGUMENTS)

_Pieces = tuple[tuple[int, int], ...]
"""Addresses and sizes."""


class Unfinished(NamedTuple):
    """A call that is made once more: bytes moved before, its number and its arguments as the thread gave them, and of a
    vector the pieces that are left, of which the first is being moved."""

    done: int
    given: tuple[int, ...]
    pieces: _Pieces = ()

    @property
    def number(self) -> int:
        """Of the call that the thread has made."""
        return self.given[0]


def rest(tid: int) -> Unfinished | None:
    """Of the call that the stopped thread leaves, if that was cut short. Raises OSError."""
    number, done = ptrace.called(tid), ptrace.result(tid)
    if done <= 0 or (number not in system_calls.MOVING and number not in system_calls.PIECEWISE):
        return None
    given = [ptrace.peek_user(tid, place) for place in _REGISTERS]
    if not _waits_for_all(tid, number, given[1:]):
        return None
    if number in system_calls.PIECEWISE:
        pieces = _pieces_left(tid, number, given[1:], done)
        return Unfinished(done, tuple(given), pieces) if pieces else None
    _, size = system_calls.MOVING[number]
    return Unfinished(done, tuple(given)) if done < given[1 + size] else None


def go_on(tid: int, left: Unfinished) -> None:
    """Have the call made once more for that. The thread stands for nothing but the guardian. Raises OSError."""
    number, arguments = left.number, list(left.given[1:])
    if left.pieces:
        if number == system_calls.SENDMSG:
            # The flags; no address, and descriptors have gone with the first byte.
            arguments[3:] = arguments[2], 0, 0
        elif number == system_calls.PREADV:
            arguments[system_calls.FILE_OFFSET] += left.done
        arguments[1:3] = left.pieces[0]
        number = system_calls.PIECEWISE[number]
    else:
        data, size = system_calls.MOVING[number]
        arguments[size] -= left.done
        if data >= 0:
            arguments[data] += left.done
        if number == system_calls.PREAD64:
            arguments[system_calls.FILE_OFFSET] += left.done
    _set(tid, (number, *arguments), -_RESTARTNOINTR)


def next_piece(tid: int, call: Unfinished) -> Unfinished | None:
    """The thread leaves the call: what is left where a piece has been moved and there are more. Raises OSError."""
    if len(call.pieces) < 2 or ptrace.result(tid) != call.pieces[0][1]:
        return None
    return call._replace(done=call.done + call.pieces[0][1], pieces=call.pieces[1:])


def finish(tid: int, call: Unfinished) -> None:
    """The thread leaves the call, or a signal is to be delivered before that has been made once more."""
    with suppress(OSError):
        _set(tid, call.given, call.done + max(ptrace.result(tid), 0))


def _set(tid: int, values: tuple[int, ...], result: int) -> None:
    for place, value in zip(_REGISTERS, values, strict=True):
        ptrace.call(ptrace.POKEUSER, tid, place, value)
    ptrace.call(ptrace.POKEUSER, tid, registers.CALL_RESULT, result)


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
    if number in _READING:
        return name in _ENDLESS
    if number == system_calls.SENDFILE:
        return name.startswith(_SOCKET)
    return name.startswith((_SOCKET, _PIPE, _TERMINAL, _PSEUDOTERMINAL))


def _pieces_left(tid: int, number: int, given: list[int], done: int) -> _Pieces:
    """The pieces of the vector of which so many bytes have been moved. Raises OSError."""
    vector, count = given[1:3]
    if number == system_calls.SENDMSG:
        vector, count = (ptrace.peek(tid, given[1] + member) for member in (_MSG_IOV, _MSG_IOVLEN))
    left = []
    for at in range(vector, vector + min(count, _MOST_PIECES) * _IOVEC, _IOVEC):
        start, size = ptrace.peek(tid, at), ptrace.peek(tid, at + WORD)
        if done < size:
            left.append((start + done, size - done))
        done = max(done - size, 0)
    return tuple(left)
