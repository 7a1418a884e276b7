"""The ring of stop records (stops.py): the guardian's side, which writes, and sonde's, which reads.

Neither makes a system call for a record while the other is awake. What one side stores before it looks at a word of the
other's, and the other way round, needs a full barrier in between, on both sides; here that is a system call.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from mmap import mmap

from sonde.engines.embedded.tracer import stops


def _slots(memory: mmap) -> int:
    return (len(memory) - stops.memory_size(0)) // stops.SIZE


class RecordWriter:
    """The side that writes, whatever is in the ring. `wait` is called while it is full, and returns when it may have
    room."""

    def __init__(self, memory: mmap, bell: int, wait: Callable[[], None]) -> None:
        self.words = memoryview(memory).cast("Q")
        self.info = (ctypes.c_char * 128)()
        """Where ptrace writes what the next record ends with."""

        self.info_words = memoryview(self.info).cast("B").cast("Q")
        self._bytes = memoryview(memory)
        self._end = memoryview(self.info).cast("B")[: stops.SIZE - stops.INFO_OFFSET]
        self._pack = stops.HEADER.pack_into
        self.slots = self._room = _slots(memory)
        self._bell = bell
        self._wait = wait
        self.full = self._room
        self._half = self._room // 2
        self.head = self.words[stops.HEAD]
        self._look()

    def limit(self, room: int) -> None:
        """Let no more than `room` records wait."""
        self._room = min(room, self.slots)
        self._look()

    def next_place(self) -> int:
        """The number of the place that belongs to the next record; waits while there is no room."""
        if self.head >= self.full:
            self.wait_for_room()
        return self.head % stops.PLACES

    def write(self, kind: int, flags: int, tid: int, when: int, a: int = 0, b: int = 0, c: int = 0) -> None:
        """Add a record; waits while there is no room."""
        if self.head >= self.full:
            # Other records may be written meanwhile, for what sonde asks.
            self.wait_for_room()
        head = self.head
        place = stops.RING + head % self.slots * stops.SIZE
        self._pack(self._bytes, place, kind, flags, tid, when, a, b, c)
        self._bytes[place + stops.INFO_OFFSET : place + stops.SIZE] = self._end
        self.head = self.words[stops.HEAD] = head + 1

    def wake(self) -> None:
        """Wake sonde if it sleeps and should know. To be called after a system call that followed the last record."""
        rest = self.words[stops.REST]
        if rest and (rest == stops.ASLEEP or (self.head >= self._half and self._is_half_full())):
            self.ring()

    def ring(self) -> None:
        """Wake sonde, who may be on its way to sleep."""
        self.words[stops.REST] = stops.AWAKE
        os.eventfd_write(self._bell, 1)

    def _look(self) -> int:
        tail = self.words[stops.TAIL]
        self.full = tail + self._room
        self._half = tail + self._room // 2
        return tail

    def _is_half_full(self) -> bool:
        self._look()
        return self.head >= self._half

    def last(self, offset: int) -> int:
        """The word at that offset of the last record written."""
        place = stops.RING + (self.head - 1) % self.slots * stops.SIZE + offset
        return self.words[place // 8]

    def wait_for_room(self) -> None:
        """Until a record can be written."""
        self._look()
        while self.head >= self.full:
            self.words[stops.FULL] = 1
            os.getppid()
            self._look()
            if self.head >= self.full:
                self.ring()
                self._wait()
            self.words[stops.FULL] = 0
            self._look()


class RecordReader:
    """Sonde's side."""

    def __init__(self, memory: mmap, bell: int) -> None:
        self.words = memoryview(memory).cast("Q")
        self._bytes = memoryview(memory)
        self._slots = _slots(memory)
        self._bell = bell
        self.tail = 0
        self.places = self._bytes[stops.RING + self._slots * stops.SIZE :]
        """What was fetched (stops.PLACES)."""

    def records(self, most: int) -> tuple[list[tuple[int, ...]], bool]:
        """Up to so many of the records that wait, as far as they lie in a row, from number `tail` on, and whether these
        are all; they stay until consumed()."""
        tail = self.tail
        waiting = self.words[stops.HEAD] - tail
        count = min(waiting, self._slots - tail % self._slots, most)
        place = stops.RING + tail % self._slots * stops.SIZE
        found = list(stops.RECORD.iter_unpack(self._bytes[place : place + count * stops.SIZE])) if count else []
        return found, count == waiting

    def consumed(self, count: int) -> None:
        """Give back the first `count` records."""
        self.tail += count
        self.words[stops.TAIL] = self.tail

    def is_writer_waiting(self) -> bool:
        """Whether it has to be told that there is room."""
        return bool(self.words[stops.FULL])

    def has_more(self, taken: int) -> bool:
        """Whether there are records besides the first `taken`."""
        return self.words[stops.HEAD] != self.tail + taken

    def rest(self, how: int) -> bool:
        """Announce how this side is about to wait for the eventfd; False if there are records, so that it shall not."""
        self.words[stops.REST] = how
        os.getppid()
        if self.words[stops.HEAD] == self.tail:
            return True
        self.words[stops.REST] = stops.AWAKE
        return False

    def awake(self) -> bool:
        """After a rest: whether the other side ended it."""
        self.words[stops.REST] = stops.AWAKE
        try:
            os.eventfd_read(self._bell)
        except BlockingIOError:
            return False
        return True

    def registers(self, flags: int) -> bytes:
        """struct user_regs_struct of a held stop by its flags, b"" if it came without; until it is resumed."""
        slot = flags >> stops.REGISTERS_SHIFT
        if not slot:
            return b""
        place = stops.REGISTERS + (slot - 1) * stops.REGISTER_SLOT
        return bytes(self._bytes[place : place + 216])
