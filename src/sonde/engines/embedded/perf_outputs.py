"""What programs of objects write with bpf_perf_event_output, in the ring of the engine's one CPU."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.engines.base import Written
from sonde.formats import perf_events as perf
from sonde.formats.perf_ring import PerfRingReader
from sonde.formats.perf_samples import decode_lost, decode_sample
from sonde.runtime.maps.object_array import ObjectArray
from sonde.runtime.perf.attributes import Attributes
from sonde.runtime.perf.events import OpenPerfEvent
from sonde.runtime.perf.output import CPU

_PAGES = 64
_FIELDS = perf.SAMPLE_TIME | perf.SAMPLE_RAW
_U64 = (1 << 64) - 1


class EmbeddedPerfOutput:
    """The ring of one map. It has nothing to wait for: the engine looks at it (`is_enough`)."""

    descriptors: Sequence[int] = ()

    def __init__(self, array: ObjectArray, realtime_offset: int) -> None:
        """`realtime_offset`: the wall clock less CLOCK_MONOTONIC, in ns."""
        self._offset = realtime_offset
        self._event = OpenPerfEvent(Attributes(sample_type=_FIELDS))
        self._reader = PerfRingReader(self._event.map(_PAGES))
        self._half = self._reader.capacity // 2
        self._told = 0
        array.set(CPU, self._event)

    def is_enough(self, for_data: bool) -> bool:
        """Whether it should be looked at: if it has something, or before it is full."""
        return self._reader.size > (0 if for_data else self._half)

    def lacks(self, size: int) -> bool:
        """Whether it has something, and no room for so many bytes more."""
        return bool(self._reader.size) and self._reader.size + size > self._reader.capacity

    def read(self) -> Written:
        """All records since the last call."""
        records: list[bytes] = []
        times: list[int] = []
        lost = 0
        for record in self._reader.read():
            if record.type == perf.RECORD_LOST:
                lost += decode_lost(record.body).lost
            elif record.type == perf.RECORD_SAMPLE:
                sample = decode_sample(record.body, _FIELDS)
                records.append(bytes(sample.raw))
                times.append(sample.fields["time"] + self._offset & _U64)
        self._reader.advance()
        self._told += lost
        return Written(records, times, lost)

    def lost_last(self) -> int:
        """How many found no room behind the last record that did."""
        return self._event.lost - self._told

    def close(self) -> None:
        self._reader.close()
