"""What sonde asks of its guardian through a pipe, and what the guardian answers while processes are being started."""

from __future__ import annotations

import os
import struct

_ENOUGH = 1 << 16

PLAN = 1
"""A plan (plan.py) of `argument` bytes follows."""

SEIZE_COMMAND = 2
"""Trace the thread that will exec the command: answered by SEIZED, and by STOPPED when the program is in place."""

SEIZE_PROCESS = 3
"""Trace all threads of the process: answered by SEIZED."""

RUN_TO = 4
"""Let the command run to the address `argument`: answered by STOPPED or ENDED."""

GO = 5
"""From here on stops are told; what is held since it was started goes on."""

RESUME = 6
"""The thread, held by the record of number `argument`, may go on."""

ROOM = 7
"""There is room in the ring."""

COMMAND = struct.Struct("=IIQ")
"""What is asked, of which thread, the argument."""

READ = 8
"""Read the thread's memory: answered by DATA. A TRANSFER and nothing else follows, `argument` bytes."""

WRITE = 9
"""Write it: a TRANSFER and the bytes follow, `argument` bytes in all. Answered by DATA, without any."""

STAND = 10
"""Threads of processes that were there stop and wait for GO. Not answered: one blocked in the kernel may not stop."""

SITES = 11
"""Breakpoints are wanted: `argument` bytes of sites (sites.py) follow. In processes that stand they are put at GO."""

INJECT = 12
"""The system call of the thread, held by a record, is not made if the thread enters it, and has another result: an
INJECTION follows, `argument` bytes."""

FILTER = 13
"""The command, which waits for GO, gets a seccomp filter, whose `argument` bytes follow: answered by SEIZED."""

SAMPLE = 14
"""Threads that run stop, and are told by RAN."""

TRAPS = 15
"""From here on clocks of their own stop the threads (traps.py), which RAN tells of: `argument` bytes of u64 follow, the
mark of their signals and the periods. Answered by SEIZED."""

MOST_CLOCKS = 16
"""Of TRAPS; the lowest bits of the data of a signal tell which it is, those above are the mark."""

INJECTION = struct.Struct("=Qq")
"""The number of the record, the result."""

TRANSFER = struct.Struct("=QQ")
"""Address and size."""

SEIZED = 1
"""The value is 0 or an errno."""

STOPPED = 2
ENDED = 3
"""The command ended first, with that status of wait(2)."""

BROKEN = 4
"""The guardian found an error of its own: the value is the length of the text that follows. It traces no more."""

DATA = 5
"""So many bytes were transferred, and follow if they were read; or -errno."""

ANSWER = struct.Struct("=IIq")
"""What it is, of which thread, the value."""

_LONG = (PLAN, READ, WRITE, SITES, INJECT, FILTER, TRAPS)


class SondeEnded(Exception):  # noqa: N818 - it is no error
    """The pipe of commands is closed."""


def write(pipe: int, data: bytes) -> None:
    """All of it: a signal, or being stopped and continued, cuts a write to a full pipe short. Raises OSError."""
    while data:
        data = data[os.write(pipe, data) :]


class CommandReader:
    """The guardian's end: `received` counts the commands read, as sonde counts those it sends."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._buffer = b""
        self.received = 0

    def read(self) -> list[tuple[int, int, int, bytes]]:
        """Wait for commands: what is asked, of which thread, the argument, what follows. Raises SondeEnded."""
        data = os.read(self._pipe, _ENOUGH)
        if not data:
            raise SondeEnded
        data = self._buffer + data
        found, place, size = [], 0, COMMAND.size
        while place + size <= len(data):
            asked, tid, argument = COMMAND.unpack_from(data, place)
            end = place + size + (argument if asked in _LONG else 0)
            if len(data) < end:
                break
            found.append((asked, tid, argument, data[place + size : end]))
            place = end
        self._buffer = data[place:]
        self.received += len(found)
        return found
