"""The perf ring that records come through, where programs write none to a BPF ring buffer."""

from __future__ import annotations

from sonde.arch import pages
from sonde.engines.merged_ring import MergedRing
from sonde.formats import perf_events as perf
from sonde.formats.perf_ring import PerfRingReader
from sonde.model.errors import EngineError
from sonde.runtime.maps.object_array import ObjectArray
from sonde.runtime.perf.attributes import Attributes
from sonde.runtime.perf.events import OpenPerfEvent
from sonde.runtime.perf.output import CPU


class RecordRing:
    """The one CPU's ring, of `size` bytes; it is the array's element. Raises EngineError."""

    def __init__(self, array: ObjectArray, size: int) -> None:
        event = OpenPerfEvent(Attributes(sample_type=perf.SAMPLE_TIME | perf.SAMPLE_RAW))
        try:
            self._reader = PerfRingReader(event.map(size // pages.PAGE))
        except ValueError as error:
            raise EngineError(f"cannot make the perf ring of map {array.spec.name}: {error}") from None
        array.set(CPU, event)
        self._size = size
        self.ring = MergedRing([self._reader], lambda: 0)

    def is_enough(self, for_data: bool) -> bool:
        """Whether it should be looked at: if it has something, or before it is full."""
        return self._reader.size > (0 if for_data else self._size // 2)

    def lacks(self, size: int) -> bool:
        """Whether it has something, and no room for so many bytes more."""
        return bool(self._reader.size) and self._reader.size + size > self._size

    def close(self) -> None:
        self._reader.close()
