"""A perf event with the memory of its ring."""

from __future__ import annotations

import errno
import mmap
import os
from contextlib import suppress

from sonde.formats.perf_ring import PerfRingReader

_LEAST = 1 << 16


class LockedMemoryError(OSError):
    """The memory of a ring would be more than the user may lock."""


class EventRing:
    """Owns the event's descriptor and up to `size` bytes of memory for its records: as much as the limit on locked
    memory allows (kernel.perf_event_mlock_kb)."""

    def __init__(self, descriptor: int, size: int) -> None:
        """Raises OSError, LockedMemoryError where that is the cause."""
        self.descriptor = descriptor
        try:
            self._memory = _mapped(descriptor, size)
        except BaseException:
            os.close(descriptor)
            raise
        self.reader = PerfRingReader(memoryview(self._memory))

    def close(self) -> None:
        self.reader.close()
        with suppress(BufferError):
            self._memory.close()
        os.close(self.descriptor)


def _mapped(descriptor: int, size: int) -> mmap.mmap:
    while True:
        try:
            return mmap.mmap(descriptor, mmap.PAGESIZE + size)
        except OSError as error:
            if size <= _LEAST:
                if error.errno == errno.EPERM:
                    raise LockedMemoryError(*error.args) from None
                raise
            size //= 2
