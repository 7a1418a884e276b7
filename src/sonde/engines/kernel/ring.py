"""A BPF ring buffer of the kernel, mapped into memory (kernel/bpf/ringbuf.c).

Its first page holds the consumer position, the second the producer position, and then come the data, twice in a row so
that no record is ever split. Positions count bytes since the beginning and never wrap in practice.
"""

from __future__ import annotations

import mmap
from contextlib import suppress
from mmap import PAGESIZE

from sonde.formats.bpf_ring import ALIGNMENT, BUSY, LENGTH, ROUNDING

_PENDING = 1
"""Index, behind the producer position, of the position up to which the kernel knows all records to be committed. It is
there since Linux 6.10 and its stable contemporaries (commit cfa1a2329a69); elsewhere the word reads 0."""


class KernelRing:
    """The Ring of a map. Owns the mappings, not the map's descriptor.

    Positions are read and written as single aligned 8-byte words, never by struct, which writes byte by byte.
    """

    def __init__(self, descriptor: int, size: int) -> None:
        self.descriptor = descriptor
        self._mask = size - 1
        self._writable = mmap.mmap(descriptor, PAGESIZE, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        try:
            self._readable = mmap.mmap(
                descriptor, PAGESIZE + 2 * size, mmap.MAP_SHARED, mmap.PROT_READ, offset=PAGESIZE
            )
        except BaseException:
            self._writable.close()
            raise
        self._consumer = memoryview(self._writable).cast("Q")
        self._producer = memoryview(self._readable)[:PAGESIZE].cast("Q")
        self._data = memoryview(self._readable)[PAGESIZE:]
        self._lengths = self._data.cast("I")
        self._position = self._consumer[0]

    def read(self) -> memoryview:
        """All records from the consumer position to the first still BUSY one, empty if none; valid until advance."""
        begin = self._position
        end = self._committed(begin)
        start = begin & self._mask
        return self._data[start : start + end - begin]

    def unread(self) -> memoryview:
        """The same as `read`, which changes nothing."""
        return self.read()

    def _committed(self, begin: int) -> int:
        """The position of the first record that is not committed yet.

        The kernel notes in passing how far it is from the oldest record still being written, so only the few records
        behind that note are looked at one by one.
        """
        pending = self._producer[_PENDING]
        produced = self._producer[0]
        end = pending if begin < pending <= produced else begin
        lengths, mask = self._lengths, self._mask
        while end < produced:
            length = lengths[(end & mask) >> 2]
            if length & BUSY:
                break
            end += (length & LENGTH) + ROUNDING & -ALIGNMENT
        return end

    @property
    def position(self) -> int:
        """Up to where everything has been given back."""
        return self._position

    @property
    def produced(self) -> int:
        """Up to where there are records, written or being written."""
        return self._producer[0]

    @property
    def has_data(self) -> bool:
        """Whether there is a record, which may still be being written."""
        return self._producer[0] != self._position

    def advance(self, size: int) -> None:
        """Give `size` bytes back to the producers."""
        self._position += size
        self._consumer[0] = self._position

    def close(self) -> None:
        """Unmap. Views that callers still hold keep the memory, and only the memory, until they go."""
        with suppress(BufferError):
            for view in (self._lengths, self._data, self._producer, self._consumer):
                view.release()
        with suppress(BufferError):
            self._readable.close()
        with suppress(BufferError):
            self._writable.close()
