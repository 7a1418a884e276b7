"""The reader of a perf ring buffer, whoever fills it: the kernel through a mapping, or the embedded engine.

The first page is struct perf_event_mmap_page (include/uapi/linux/perf_event.h): the writer moves data_head, the reader
data_tail, and both count bytes since the beginning. Records are whole multiples of 8 bytes; one that does not fit
before the end of the data goes on at their beginning.
"""

from __future__ import annotations

from sonde.formats import perf_events as perf
from sonde.typed import NamedTuple

_HEADER = perf.HEADER


class PerfRecord(NamedTuple):
    """PERF_RECORD_* `type`, PERF_RECORD_MISC_* bits, and what stands behind the header: valid until `advance`."""

    type: int
    misc: int
    body: memoryview


class BrokenRingError(Exception):
    """A record's size is impossible: the positions or the data were overwritten."""


class PerfRingReader:
    """Reads the ring in `memory`: its control page, then the data; writable, since the tail is in it."""

    def __init__(self, memory: memoryview) -> None:
        self._words = memory[: perf.PAGE_DATA_SIZE + 8].cast("Q")
        offset = self._words[perf.PAGE_DATA_OFFSET >> 3]
        self._capacity = self._words[perf.PAGE_DATA_SIZE >> 3]
        self._data = memory[offset : offset + self._capacity]
        self._tail = self._words[perf.PAGE_DATA_TAIL >> 3]
        self._end = self._tail

    def read(self) -> list[PerfRecord]:
        """All records since the last `advance`. Raises BrokenRingError."""
        head = self._words[perf.PAGE_DATA_HEAD >> 3]
        position, records = self._tail, []
        while position < head:
            type_, misc, size = _HEADER.unpack_from(self._data, position & (self._capacity - 1))
            if size < perf.HEADER_SIZE or size & 7 or position + size > head:
                raise BrokenRingError(f"a record of {size} bytes where {head - position} are left in the perf ring")
            records.append(PerfRecord(type_, misc, self._slice(position + perf.HEADER_SIZE, size - perf.HEADER_SIZE)))
            position += size
        self._end = position
        return records

    def unread(self) -> memoryview:
        """The bytes of all records since the last `advance`, headers included, in one piece: valid until then."""
        self._end = self._words[perf.PAGE_DATA_HEAD >> 3]
        return self._slice(self._tail, self._end - self._tail)

    @property
    def capacity(self) -> int:
        """How many bytes of records there is room for."""
        return self._capacity

    @property
    def size(self) -> int:
        """How many bytes are there to be read."""
        return self._words[perf.PAGE_DATA_HEAD >> 3] - self._tail

    def _slice(self, position: int, size: int) -> memoryview:
        start = position & (self._capacity - 1)
        if start + size <= self._capacity:
            return self._data[start : start + size]
        return memoryview(bytes(self._data[start:]) + bytes(self._data[: start + size - self._capacity]))

    def advance(self) -> None:
        """Give what `read` returned back to the writer."""
        self._tail = self._end
        self._words[perf.PAGE_DATA_TAIL >> 3] = self._tail

    def skip(self) -> None:
        """Give back all that is there, unread."""
        self._end = self._words[perf.PAGE_DATA_HEAD >> 3]
        self.advance()

    def close(self) -> None:
        """Let the memory go; views of records that callers still hold keep it."""
        self._words.release()
        self._data.release()
