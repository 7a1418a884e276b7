"""The writer's side of a perf ring (kernel/events/ring_buffer.c): a page of positions, then a power of 2 of pages.

`data_head` and `data_tail` count bytes since the beginning. A record is written into a slot that is taken for it in one
step; what finds the ring full is counted, and the first record with room again has a PERF_RECORD_LOST before it.
Between a record's begin and its end others may write theirs (a callback or a program may output something itself); the
head moves when the outermost one ends.

Beyond the kernel's rings, a slot can stay open for its writer to fill by stores, as in a BPF ring buffer: the data are
mapped twice, one behind the other, so each slot is in one piece.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from sonde.arch import pages
from sonde.formats import perf_events as perf
from sonde.runtime.perf.mirrored import mirrored
from sonde.runtime.perf.raw import Copy
from sonde.typed import Protocol

_PAGE = pages.PAGE

_CAP_BIT0_IS_DEPRECATED = 2

_SKIPPED = struct.pack("=I", 0)
"""A type of records that there is not: readers pass over it."""


class Writer(Protocol):
    """Whose records they are: what the ring asks when records were lost."""

    @property
    def lost_size(self) -> int:
        """How long its PERF_RECORD_LOST is."""

    def lost_record(self, count: int, values: Mapping[str, int]) -> bytes:
        """That record; `values` are those of the sample that found room again."""


class PerfRing:
    """A ring of `pages` pages of data. `memory` is what a reader maps: the control page and the data. `direct` are the
    data twice, where the slots are that stay open; `address` is where programs see these, 0 as long as none does.

    `watermark` is after how many bytes a sleeping reader is woken; 0 is half of the data. `wakeups` counts how often
    it was.
    """

    def __init__(self, pages: int, watermark: int = 0) -> None:
        if pages < 1 or pages & (pages - 1):
            raise ValueError(f"a perf ring has a power of 2 of pages, not {pages}")
        self.size = pages * _PAGE
        whole = mirrored(_PAGE, self.size)
        self.memory = whole[: _PAGE + self.size]
        self.direct = whole[_PAGE:]
        self.address = 0
        self.lost = 0
        self.wakeups = 0
        self._watermark = min(self.size, watermark) or self.size // 2
        self._words = self.memory[:_PAGE].cast("Q")
        self._data = self.memory[_PAGE:]
        self._head = 0
        self._nested = 0
        self._events = 0
        self._wakeup = 0
        self._woken = 0
        self._open: dict[int, tuple[int, int]] = {}
        self._words[perf.PAGE_CAPABILITIES >> 3] = _CAP_BIT0_IS_DEPRECATED
        self._words[perf.PAGE_SIZE_FIELD >> 3] = perf.PAGE_RESERVED
        self._words[perf.PAGE_DATA_OFFSET >> 3] = _PAGE
        self._words[perf.PAGE_DATA_SIZE >> 3] = self.size

    def begin(self, size: int, writer: Writer, values: Mapping[str, int]) -> RecordSlot | None:
        """Room for `size` bytes, a multiple of 8, behind a report of what was lost before; None if there is none.

        `values` are those of the sample, by the names of perf_events.FIXED_FIELDS.
        """
        lost = self.lost
        whole = size + writer.lost_size if lost else size
        if not self._has_space(whole):
            self.lost += 1
            return None
        if self._nested == 0:
            self._woken = self._wakeup
        self._nested += 1
        slot = RecordSlot(self, self._data, self._head)
        self._head += whole
        if self._head - self._wakeup > self._watermark:
            self._wakeup += self._watermark
        if lost:
            self.lost = 0
            slot.copy(writer.lost_record(lost, values))
        return slot

    def _has_space(self, size: int) -> bool:
        """CIRC_SPACE: one byte always stays free."""
        return (self._words[perf.PAGE_DATA_TAIL >> 3] - self._head - 1) & (self.size - 1) >= size

    def end(self) -> None:
        """A slot is filled: what all are done with becomes visible."""
        self._nested -= 1
        if self._nested:
            return
        self._words[perf.PAGE_DATA_HEAD >> 3] = self._head
        if self._woken != self._wakeup:
            self.wakeups += 1

    def keep_open(self, header: int, at: int, wakeup_events: int) -> None:
        """Leave a slot whose header is at `header` to its writer, who fills it from `at` on and commits it by that."""
        self._open[at] = (header, wakeup_events)

    def commit(self, at: int, is_discarded: bool) -> bool:
        """A slot that was left open is filled, or is to be passed over; whether there is such a slot."""
        found = self._open.pop(at, None)
        if found is None:
            return False
        header, wakeup_events = found
        if is_discarded:
            self.direct[header : header + len(_SKIPPED)] = _SKIPPED
        elif wakeup_events:
            self.count_event(wakeup_events)
        self.end()
        return True

    def count_event(self, wakeup_events: int) -> None:
        """A sample is in its slot: wake the reader up after each `wakeup_events` of them."""
        self._events += 1
        if self._events >= wakeup_events:
            self._events -= wakeup_events
            self._wakeup += 1


class RecordSlot:
    """The place of one record, filled from its beginning (struct perf_output_handle)."""

    __slots__ = ("_at", "_data", "_ring")

    def __init__(self, ring: PerfRing, data: memoryview, position: int) -> None:
        self._ring = ring
        self._data = data
        self._at = position & (len(data) - 1)

    @property
    def at(self) -> int:
        """Where the next byte goes, counted from the beginning of the data."""
        return self._at

    def copy(self, source: bytes | memoryview) -> None:
        """Write linear memory."""
        end = self._at + len(source)
        if end <= len(self._data):
            self._data[self._at : end] = source
        else:
            first = len(self._data) - self._at
            self._data[self._at :] = source[:first]
            self._data[: len(source) - first] = source[first:]
        self.skip(len(source))

    def custom(self, copy: Copy, size: int) -> None:
        """Let `copy` write `size` bytes, in one piece or, where the ring ends between them, in two.

        What it cannot copy is zeros, and nothing behind it is asked for.
        """
        offset = 0
        while offset < size:
            length = min(size - offset, len(self._data) - self._at)
            piece = self._data[self._at : self._at + length]
            missing = copy(piece, offset, length)
            self.skip(length)
            offset += length
            if missing:
                piece[length - missing :] = bytes(missing)
                self._zeros(size - offset)
                return

    def _zeros(self, size: int) -> None:
        self.copy(bytes(size))

    def skip(self, size: int) -> None:
        """Leave `size` bytes as they are."""
        self._at = (self._at + size) & (len(self._data) - 1)

    def end(self) -> None:
        self._ring.end()
