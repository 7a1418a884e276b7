"""The notifier: a process that hears of system calls by a seccomp listener, tells sonde, and lets them go on.

A notification costs a thread a third of a stop, as there are two ioctls for a call, and what is told comes with the
first: seccomp_unotify(2), include/uapi/linux/seccomp.h of the kernel. Records go into a ring of their own, as a ring
has one writer. A thread goes on behind its record, as it does behind the guardian's.

It can be killed at any moment: the listener stays open in the guardian, which forks another. The kernel writes a
notification into the shared memory, so the call that the killed one has left unanswered is known.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
from contextlib import suppress
from mmap import mmap

from sonde.arch import pages
from sonde.engines.embedded.tracer import commands, stops
from sonde.engines.embedded.tracer.ring import RecordWriter
from sonde.machine.system import monotonic_ns

_RECEIVE, _SEND, _SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082104
"""SECCOMP_IOCTL_NOTIF_RECV, _SEND and _SET_FLAGS."""

_SYNC_WAKE_UP = 1
"""SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP: the two take turns, so they are to run on one CPU."""

_CONTINUE = 1
"""SECCOMP_USER_NOTIF_FLAG_CONTINUE"""

_NOTIFICATION = struct.Struct("=QI4xiI7Q")
"""struct seccomp_notif: id, thread, flags, then struct seccomp_data: number, architecture, ip, arguments."""

_RESPONSE = struct.Struct("=QqiI")
"""struct seccomp_notif_resp: id, value, error, flags."""

_ENTRY = struct.Struct("=HHIQqqqB3xIQQ7Q")
"""A record up to a call's last argument; c is the notification's id."""

_C = 32
"""Where c is in a record."""

_I64 = (1 << 63) - 1


def serve(memory: mmap, listener: int, bell: int, room: int) -> None:
    """Until all threads that have the filter are gone. `room` is a pipe that tells of room in the ring of `memory`."""
    fcntl.ioctl(listener, _SET_FLAGS, _SYNC_WAKE_UP)
    octets = memoryview(memory)[stops.NOTIFICATION : pages.PAGE]
    try:
        _tell_all(memory, listener, octets, RecordWriter(memory, bell, lambda: _wait(room)))
    except commands.SondeEnded:
        _let_all_go(listener, octets)


def _wait(room: int) -> None:
    if not os.read(room, 4096):
        raise commands.SondeEnded


def _tell_all(memory: mmap, listener: int, octets: memoryview, writer: RecordWriter) -> None:
    """Raises SondeEnded, with a call not answered yet."""
    ioctl, receive, send, clock = fcntl.ioctl, _RECEIVE, _SEND, monotonic_ns
    unpack, pack, pack_id = _NOTIFICATION.unpack_from, _ENTRY.pack_into, struct.Struct("=Q").pack_into
    ring, words, slots = memoryview(memory), writer.words, writer.slots
    entry, start, size = stops.ENTRY, stops.RING, stops.SIZE
    rest, head_word, telling, some = stops.REST, stops.HEAD, stops.TELLING, stops.TELLING_SOME
    response = bytearray(_RESPONSE.pack(0, 0, 0, _CONTINUE))
    # The kernel wants zeros here. More than 1024 bytes are handed to it where they are (fcntl.ioctl).
    notification, nothing = octets[: _NOTIFICATION.size], bytes(_NOTIFICATION.size)
    left = _is_left(writer, octets)
    while True:
        if not left:
            notification[:] = nothing
            try:
                ioctl(listener, receive, octets)
            except FileNotFoundError:
                if has_ended(listener):
                    return
                continue
        number, tid, call, architecture, ip, a, b, c, d, e, f = unpack(octets)
        if words[telling] and left != _TOLD and (words[telling] != some or not _steps(words, tid)):
            head = writer.head
            if head >= writer.full:
                writer.wait_for_room()
            place = start + head % slots * size
            pack(
                ring, place, entry, 0, tid, clock(), 0, 0, number & _I64, 0, architecture, ip, 0,
                call & 0xFFFFFFFF, a, b, c, d, e, f,
            )  # fmt: skip
            writer.head = words[head_word] = head + 1
        left = 0
        pack_id(response, 0, number)
        try:  # noqa: SIM105 - it would cost each call more
            ioctl(listener, send, response)
        except FileNotFoundError:
            pass  # The thread has been killed.
        if words[rest]:
            writer.wake()


def _steps(words: memoryview, tid: int) -> bool:
    """Whether the guardian tells of the thread's calls (stepping.py)."""
    place, bit = stops.stepping_word(len(words) * stops.WORD, tid)
    return bool(words[place] & bit)


_UNTOLD, _TOLD = 1, 2


def _is_left(writer: RecordWriter, octets: memoryview) -> int:
    """Whether a killed notifier has left a call, which may have been answered: 0, _UNTOLD or _TOLD."""
    number = _NOTIFICATION.unpack_from(octets)[0]
    if not number:
        return 0
    return _TOLD if writer.head and writer.last(_C) == number & _I64 else _UNTOLD


def _let_all_go(listener: int, octets: memoryview) -> None:
    """Sonde has ended: nobody is to be told."""
    notification, nothing = octets[: _NOTIFICATION.size], bytes(_NOTIFICATION.size)
    while True:
        number = _NOTIFICATION.unpack_from(octets)[0]
        with suppress(FileNotFoundError):
            fcntl.ioctl(listener, _SEND, bytearray(_RESPONSE.pack(number, 0, 0, _CONTINUE)))
        notification[:] = nothing
        try:
            fcntl.ioctl(listener, _RECEIVE, octets)
        except FileNotFoundError:
            if has_ended(listener):
                return


def has_ended(listener: int) -> bool:
    """Whether no thread has the filter any more."""
    poll = select.poll()
    poll.register(listener, 0)
    return bool(poll.poll(0))
