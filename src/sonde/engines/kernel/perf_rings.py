"""Perf rings of the kernel, one for each CPU, behind an array of perf events that programs write to."""

from __future__ import annotations

import errno
import mmap
import os
import struct
import sys
import time
from collections.abc import Callable, Sequence

from sonde.engines.kernel import perf_events
from sonde.engines.kernel.failures import explain
from sonde.engines.kernel.maps import KernelMap
from sonde.engines.merged_ring import MergedRing
from sonde.formats.perf_ring import PerfRingReader
from sonde.machine.system import monotonic_ns, online_cpus
from sonde.model.errors import EngineError
from sonde.model.samples import SAMPLE_TYPE, SampledEvent, Take
from sonde.model.units import SECOND

_WAKEUPS = 4
"""A reader is woken when a ring is filled by one part in so many. Waking it for each record would cost the programs ten
times as much as the record itself, so those who wait look at the rings themselves from time to time."""

_LAST_WAKEUP = 1 << 31
"""The most bytes after which a reader can be woken."""

_STUCK = 0.01
"""Seconds for which a CPU may be about to write a record before it is taken for one that is not: it was interrupted
before it has taken the record's time, or behind that."""


class PerfRings:
    """The rings of one map. Owns the events and their mappings."""

    def __init__(self, array: KernelMap, pages: int, open_event: Callable[[int], int]) -> None:
        """`pages` of data each, a power of 2; `open_event` makes a CPU's event. Raises EngineError."""
        self.descriptors: list[int] = []
        self.readers: list[PerfRingReader] = []
        self._mappings: list[mmap.mmap] = []
        try:
            for cpu in online_cpus():
                if array.spec.max_entries > cpu:
                    self._open(array, cpu, pages, open_event(cpu))
        except OSError as error:
            self.close()
            raise explain(error, f"cannot make the perf rings of map {array.spec.name}") from None
        except EngineError:
            self.close()
            raise

    def _open(self, array: KernelMap, cpu: int, pages: int, event: int) -> None:
        self.descriptors.append(event)
        mapping = _map(event, pages)
        self._mappings.append(mapping)
        self.readers.append(PerfRingReader(memoryview(mapping)))
        array.write(struct.pack("=I", cpu), event.to_bytes(4, sys.byteorder))
        perf_events.enable(event)

    def close(self) -> None:
        """Closing twice is harmless."""
        for reader in self.readers:
            reader.close()
        for mapping in self._mappings:
            mapping.close()
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.readers, self._mappings, self.descriptors = [], [], []


def _map(event: int, pages: int) -> mmap.mmap:
    """Raises EngineError where the size is why it cannot be."""
    try:
        return mmap.mmap(event, (1 + pages) * mmap.PAGESIZE, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    except OSError as error:
        size = f"cannot make perf rings of {pages * mmap.PAGESIZE} bytes, one for each CPU"
        if error.errno == errno.ENOMEM:
            raise EngineError(f"{size}: too large, or not enough memory; -b makes them smaller") from None
        if error.errno == errno.EPERM:
            # More than kernel.perf_event_mlock_kb for each CPU and RLIMIT_MEMLOCK (perf_mmap, kernel/events/core.c).
            remedy = "-b makes them smaller; CAP_IPC_LOCK, `ulimit -l` or sysctl kernel.perf_event_mlock_kb allows more"
            raise EngineError(f"{size}: more memory than this user may lock; {remedy}") from None
        raise


class RecordRings:
    """The rings that records come through where there is no BPF ring buffer or a packet follows, and the one that they
    are for the consumer. Owns all but the maps."""

    def __init__(self, array: KernelMap, writing: KernelMap, size: int, take: Take | None = None) -> None:
        """Rings of `size` bytes each; `writing` is the map `spec.WRITING`. `take` gets the records as they stand in
        the rings, with all fields of `samples.SAMPLE_TYPE`. Raises EngineError."""
        pages = size // mmap.PAGESIZE
        if pages < 1 or pages & (pages - 1):
            raise EngineError(f"a perf ring has a power of 2 of pages, not {size} bytes")
        self._writing = writing
        wakeup = min(size // _WAKEUPS, _LAST_WAKEUP)
        self._attributes = perf_events.timed_output(wakeup, SAMPLE_TYPE if take is not None else 0)
        self._rings = PerfRings(array, pages, lambda cpu: perf_events.open_on_cpu(self._attributes, cpu))
        self.ring = MergedRing(self._rings.readers, self._settled, take)

    @property
    def event(self) -> SampledEvent:
        """What the records are samples of."""
        return SampledEvent("sonde", bytes(self._attributes), tuple(map(perf_events.identifier, self.descriptors)))

    @property
    def descriptors(self) -> Sequence[int]:
        """Readable when a ring has filled in part, not as soon as it has something."""
        return self._rings.descriptors

    def _settled(self) -> int:
        """A time up to which all records are in the rings: every CPU has been seen not to write one since."""
        now = monotonic_ns()
        busy = self._busy()
        while busy and monotonic_ns() < now + _STUCK * SECOND:
            time.sleep(0)
            busy &= self._busy()
        return now

    def _busy(self) -> frozenset[int]:
        ((_, value),) = self._writing.read()
        return frozenset(cpu for cpu, (count,) in enumerate(struct.iter_unpack("=Q", value)) if count)

    def close(self) -> None:
        self._rings.close()
