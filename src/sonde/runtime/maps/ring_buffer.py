"""The BPF ring buffer, byte for byte as the kernel's (kernel/bpf/ringbuf.c).

It lies in a file in memory with the kernel's layout: a page with the consumer position, a page with the producer
position and the position up to which all records are committed, then the data twice. The kernel maps the same pages
twice; here they are two copies. A record that wraps runs on into the second copy, where the reader looks for it. One
that the reader meets in the second copy, since what it has not read yet begins in an earlier round, is copied there.
"""

from __future__ import annotations

import mmap
import os
from errno import EAGAIN, EINVAL
from mmap import PAGESIZE

from sonde.formats.bpf_ring import ALIGNMENT, BUSY, DISCARD, RING_HEADER, ROUNDING
from sonde.model.spec import MapSpec
from sonde.runtime.machine.memory import OFFSET_MASK, MachineMemory
from sonde.runtime.maps.base import ANY, Calls

NO_WAKEUP, FORCE_WAKEUP = 1, 2
AVAIL_DATA, RING_SIZE, CONSUMER_POSITION, PRODUCER_POSITION = range(4)
"""What query tells."""

_MOST = 0xFFFF_FFFF // 4
"""Bytes of a record, at most."""

_PAGES_BEFORE = 3
"""Pages of struct bpf_ringbuf before its data, which the second word of a record's header counts from."""


class RingBuffer:
    """`is_awake` is set whenever the kernel would wake the consumer, who clears it."""

    handle = 0

    def __init__(self, spec: MapSpec, memory: MachineMemory) -> None:
        self.spec = spec
        size = spec.max_entries
        self.descriptor = os.memfd_create("ring", os.MFD_CLOEXEC)
        try:
            os.ftruncate(self.descriptor, 2 * PAGESIZE + 2 * size)
            self._mapping = mmap.mmap(self.descriptor, 2 * PAGESIZE + 2 * size)
        except BaseException:
            os.close(self.descriptor)
            raise
        view = memoryview(self._mapping)
        self._consumer = view[:PAGESIZE].cast("Q")
        self._producer = view[PAGESIZE : 2 * PAGESIZE].cast("Q")
        self._data = view[2 * PAGESIZE :]
        self._words = self._data.cast("I")
        self._memory = memory
        self.address = memory.add(self._data)
        self._mask = size - 1
        self._position = 0
        self._busy = 0
        self.is_awake = False
        self.calls: Calls = {
            "ringbuf_reserve": self.reserve,
            "ringbuf_output": self._output_at,
            "ringbuf_query": self.query,
        }

    def reserve(self, size: int, flags: int = 0) -> int:
        """The address of a record's `size` bytes, which are whatever was left there; 0 if the ring is full. There are
        no flags."""
        if size > _MOST or flags:
            return 0
        position, mask, producer = self._position, self._mask, self._producer
        pending = self._pending() if self._busy else position
        producer[1] = pending
        end = position + (size + ROUNDING & -ALIGNMENT)
        if end - self._consumer[0] > mask or end - pending > mask:
            return 0
        at = position & mask
        word = at >> 2
        words = self._words
        words[word] = size | BUSY
        words[word + 1] = (at // PAGESIZE) + _PAGES_BEFORE
        if at + end - position > mask + 1:
            # What was left at the beginning is what the program may see in the part that runs on.
            over = at + end - position - mask - 1
            self._data[mask + 1 : mask + 1 + over] = self._data[:over]
        producer[0] = self._position = end
        self._busy += 1
        return self.address + at + RING_HEADER

    def _pending(self) -> int:
        """The position of the oldest record that is not committed."""
        position, words, mask = self._producer[1], self._words, self._mask
        while position < self._position:
            length = words[(position & mask) >> 2]
            if length & BUSY:
                break
            position += (length & ~DISCARD) + ROUNDING & -ALIGNMENT
        return position

    def commit(self, address: int, flags: int, discard: bool = False) -> None:
        """Submit the record at `address`, which `reserve` returned, or discard it."""
        at = (address & OFFSET_MASK) - RING_HEADER
        word, words, mask = at >> 2, self._words, self._mask
        length = words[word] & ~BUSY
        consumed = self._consumer[0]
        # The newest position with this offset: nothing reserved is a round older than what was produced.
        position = self._position - (self._position - at & mask)
        words[word] = length | DISCARD if discard else length
        size = mask + 1
        end = at + (length + ROUNDING & -ALIGNMENT)
        if position ^ consumed > mask:
            self._data[at + size : end + size] = self._data[at:end]
        elif end > size:
            self._data[: end - size] = self._data[size:end]
        self._busy -= 1
        if flags & FORCE_WAKEUP or (consumed & mask == at and not flags & NO_WAKEUP):
            self.is_awake = True

    def _output_at(self, data: int, size: int, flags: int) -> int:
        return self.output(self._memory.read(data, size), flags)

    def output(self, record: bytes | memoryview, flags: int) -> int:
        """Copy a whole record: 0, -EAGAIN if the ring is full."""
        if flags & ~(NO_WAKEUP | FORCE_WAKEUP):
            return -EINVAL
        address = self.reserve(len(record))
        if not address:
            return -EAGAIN
        offset = address & OFFSET_MASK
        self._data[offset : offset + len(record)] = record
        self.commit(address, flags)
        return 0

    def query(self, what: int) -> int:
        """A number by what is asked for, 0 for what there is not."""
        if what == AVAIL_DATA:
            return self._position - self._consumer[0]
        if what == RING_SIZE:
            return self._mask + 1
        if what == CONSUMER_POSITION:
            return self._consumer[0]
        return self._position if what == PRODUCER_POSITION else 0

    def lookup(self, key: bytes) -> int:
        return 0

    def update(self, key: bytes, value: bytes, flags: int = ANY) -> int:
        return -EINVAL

    def items(self) -> list[tuple[bytes, bytes]]:
        return []

    def close(self) -> None:
        self._memory.remove(self.address)
        for view in (self._words, self._data, self._producer, self._consumer):
            view.release()
        # The mapping has a descriptor of its own.
        self._mapping.close()
        os.close(self.descriptor)
