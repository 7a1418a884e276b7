"""Files of captured packets as they are read: what they tell, the bytes they are read from, what is wrong with them.

Nothing of such a file is believed: lengths are checked against what the formats and this reader allow before anything
is read, and no more than one chunk or block is in memory.
"""

from __future__ import annotations

from sonde.typed import BinaryIO, NamedTuple

LARGEST_PACKET = 1 << 18
"""Bytes of a packet, at most: what other readers take, and more than any device hands over at once."""

RESOLUTION = 9
"""How many places of a second times have, in decimal digits: they are in ns."""

UNITS: int = 10**RESOLUTION
"""Of time in a second."""

_CHUNK = 1 << 20


class CapturedInterface(NamedTuple):
    """An interface of a file: its name, "" if it has none, its link type (https://www.tcpdump.org/linktypes.html), and
    the application that wrote its section, "" if that is not told."""

    name: str
    link_type: int
    writer: str = ""


class FiledPacket(NamedTuple):
    """A packet: the interface's number, from 0 over the whole file; ns since 1970; the bytes that were captured; how
    many it had; the flags of its block (epb_flags), 0 if there are none."""

    interface: int
    time: int
    data: memoryview
    length: int
    flags: int = 0


class CaptureError(Exception):
    """What is wrong with a file, and at which byte."""

    def __init__(self, text: str, at: int) -> None:
        super().__init__(text)
        self.text = text
        self.at = at


class CaptureStream:
    """The bytes of an open file, one piece after the other. `position` is that of the next."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._buffer = memoryview(b"")
        self._at = 0
        self.position = 0

    def is_over(self) -> bool:
        """Whether there is nothing more."""
        return self._at == len(self._buffer) and not self._fill(1)

    def peek(self, size: int) -> memoryview:
        """The next bytes, which come once more. Raises CaptureError if there are not so many."""
        if self._at + size > len(self._buffer) and not self._fill(size):
            raise CaptureError("the file ends within a block or packet", self.position)
        return self._buffer[self._at : self._at + size]

    def take(self, size: int) -> memoryview:
        """The next bytes, in memory that stays as it is. Raises CaptureError if there are not so many."""
        found = self.peek(size)
        self._at += size
        self.position += size
        return found

    def _fill(self, size: int) -> bool:
        """Have at least so many bytes ahead; False if the file has less."""
        rest = bytes(self._buffer[self._at :])
        while len(rest) < size:
            more = self._file.read(max(_CHUNK, size - len(rest)))
            if not more:
                break
            rest += more
        self._buffer, self._at = memoryview(rest), 0
        return len(rest) >= size
