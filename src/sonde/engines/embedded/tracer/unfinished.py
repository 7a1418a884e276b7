"""System calls that a stop of the guardian's own has cut short: they go on, and return what they would have returned.

A call that moves many bytes returns those that it has moved where it would wait and its thread is to stop: a write to a
pipe that is full, for instance. Programs know that a signal does that, and many do not expect it where there is none.
So the call is made once more, as -ERESTARTNOINTR has the kernel do, with what is left for its arguments. When it
returns, the registers are put back, and the result is the sum. If a signal comes first the result is what was moved by
then, as it would be without a tracer. A call is short for reasons of its own, too: a datagram has no more, a connection
has ended. So only a call of 64 bits on a stream or pipe that waits, is open and has no error is made once more.

Nothing in memory is changed, which other threads may look at: what is left of a vector is moved piece by piece, each by
a call that has one piece in its registers.
"""

from __future__ import annotations

import _socket
import errno
import os
import select
import stat
from collections.abc import Sequence
from contextlib import suppress

from sonde.arch import registers, system_calls
from sonde.engines.embedded.tracer import notifications, ptrace
from sonde.model.units import WORD
from sonde.typed import NamedTuple

_U32 = 0xFFFF_FFFF
_RESTARTNOINTR = 513
_MSG_WAITALL = 0x100
"""Of recv(2): it waits for all that was asked for (include/linux/socket.h)."""

_RECEIVING = _MSG_WAITALL | 0x01 | 0x02 | 0x20 | 0x40 | 0x2000
"""With MSG_OOB, MSG_PEEK, MSG_TRUNC, MSG_DONTWAIT and MSG_ERRQUEUE, with which it does not, or not once more."""

_SENDING = 0x04 | 0x80 | 0x800 | 0x4000 | 0x8000
"""Flags of send(2) that mean the same for a part: MSG_DONTROUTE, MSG_EOR, MSG_CONFIRM, MSG_NOSIGNAL, MSG_MORE."""

_FLAGS = {system_calls.SENDTO: 3, system_calls.SENDMSG: 2}

_CONNECTION_ERRORS = frozenset((
    errno.ECONNRESET, errno.ECONNREFUSED, errno.ECONNABORTED, errno.ETIMEDOUT, errno.EPIPE, errno.ENOTCONN,
    errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EPROTO,
))  # fmt: skip

_GETEVENTS = 1
"""IORING_ENTER_GETEVENTS (include/uapi/linux/io_uring.h)."""

_IO_EVENT = 32
"""sizeof(struct io_event) (include/uapi/linux/aio_abi.h)."""

_IOVEC = 16
_MOST_PIECES = 1024
"""IOV_MAX."""

_MSG_IOV, _MSG_IOVLEN = 16, 24
"""Members of struct user_msghdr."""

_ENDLESS = ("/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_SOCKET, _PIPE, _TERMINAL, _PSEUDOTERMINAL = "socket:", "pipe:", "/dev/tty", "/dev/pts/"
"""What files are called in /proc/TID/fd that have no name of their own, and terminals."""

_COMPLETIONS = (system_calls.IO_GETEVENTS, system_calls.IO_PGETEVENTS, system_calls.IO_URING_ENTER)
_READING = (system_calls.READ, system_calls.PREAD64, system_calls.READV, system_calls.PREADV)
_REGISTERS = (registers.CALL_NUMBER, *registers.CALL_ARGUMENTS)

_KNOWN = frozenset((*_COMPLETIONS, *system_calls.MOVING, *system_calls.PIECEWISE))

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
    if done < 0 or number not in _KNOWN or not ptrace.is_native(tid):
        return None
    given = tuple(ptrace.peek_user(tid, place) for place in _REGISTERS)
    if number in _COMPLETIONS:
        return Unfinished(done, given) if _waits_for_completions(number, given[1:], done) else None
    if not done or not _waits_for_all(tid, number, given[1:]):
        return None
    if number in system_calls.PIECEWISE:
        pieces = _pieces_left(tid, number, given[1:], done)
        return Unfinished(done, given, pieces) if pieces else None
    _, size = system_calls.MOVING[number]
    return Unfinished(done, given) if done < given[1 + size] else None


def _waits_for_completions(number: int, given: Sequence[int], done: int) -> bool:
    """True if the call waits for more completions. Only the program knows the number in a ring: to wait again for those
    that are there takes no time."""
    if number == system_calls.IO_URING_ENTER:
        return bool(given[3] & _GETEVENTS and given[2] & _U32)
    return 0 < done < given[1]


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
    elif number == system_calls.IO_URING_ENTER:
        arguments[1] = 0
    elif number in _COMPLETIONS:
        arguments[1] -= left.done
        arguments[2] -= left.done
        arguments[3] += left.done * _IO_EVENT
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


def finish(tid: int, call: Unfinished) -> bool:
    """Put the thread's registers back where it leaves the call, or where a signal comes before the call has been made
    once more. True if the rest of a write met a closed end: that the next write meets as well.

    The kernel reports an error of a socket once. An error that a receiver meets is the result: otherwise the next call
    would report a regular end of the connection.
    """
    is_broken = False
    with suppress(OSError):
        result = ptrace.result(tid)
        if result >= 0:
            result += call.done
        elif call.done and not (call.number == system_calls.RECVFROM and -result in _CONNECTION_ERRORS):
            is_broken = result == -errno.EPIPE
            result = call.done
        _set(tid, call.given, result)
    return is_broken


def _set(tid: int, values: tuple[int, ...], result: int) -> None:
    for place, value in zip(_REGISTERS, values, strict=True):
        ptrace.call(ptrace.POKEUSER, tid, place, value)
    ptrace.call(ptrace.POKEUSER, tid, registers.CALL_RESULT, result)


def _waits_for_all(tid: int, number: int, given: Sequence[int]) -> bool:
    """Whether the call waits until all is moved, if nothing happens. What a read of most files returns is what is
    there, and a pipe gets from sendfile(2) what it has room for."""
    if number == system_calls.GETRANDOM:
        return True
    descriptor = given[0] & _U32
    try:
        # What it is called: nobody who serves it is asked.
        name = os.readlink(f"/proc/{tid}/fd/{descriptor}")
    except OSError:
        return False
    if number == system_calls.RECVFROM:
        return given[3] & _RECEIVING == _MSG_WAITALL and _is_waited_for(tid, descriptor, select.POLLERR)
    if number in _READING:
        return name in _ENDLESS
    if number in _FLAGS and given[_FLAGS[number]] & ~_SENDING & _U32:
        return False
    if name.startswith((_SOCKET, _PIPE)) and not (name.startswith(_PIPE) and number == system_calls.SENDFILE):
        return _is_waited_for(tid, descriptor, select.POLLERR | select.POLLHUP)
    return number != system_calls.SENDFILE and name.startswith((_TERMINAL, _PSEUDOTERMINAL))


def _is_waited_for(tid: int, descriptor: int, ended: int) -> bool:
    """True for a pipe or stream on which a call waits until all bytes are moved: it is open, has no error (the events
    `ended` of poll(2)), and is not O_NONBLOCK. If sonde may not duplicate the descriptor, true for a write: only a
    stream moves a part, and finish() handles a closed end."""
    if not _may_wait(tid, descriptor):
        return False
    try:
        ours = notifications.duplicate_of(tid, descriptor)
    except OSError:
        return bool(ended & select.POLLHUP)
    try:
        if stat.S_ISSOCK(os.fstat(ours).st_mode):
            found = _socket.socket(fileno=os.dup(ours))
            kind = found.getsockopt(_socket.SOL_SOCKET, _socket.SO_TYPE)
            found.close()
            if kind != _socket.SOCK_STREAM:
                return False
        asked = select.poll()
        asked.register(ours, 0)
        return not any(events & ended for _, events in asked.poll(0))
    finally:
        os.close(ours)


def _may_wait(tid: int, descriptor: int) -> bool:
    """True if the descriptor is not O_NONBLOCK (/proc/TID/fdinfo)."""
    try:
        with open(f"/proc/{tid}/fdinfo/{descriptor}", encoding="ascii") as file:
            flags = [int(line.split()[1], 8) for line in file if line.startswith("flags:")]
    except OSError:
        return False
    return bool(flags) and not flags[0] & os.O_NONBLOCK


def _pieces_left(tid: int, number: int, given: Sequence[int], done: int) -> _Pieces:
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
