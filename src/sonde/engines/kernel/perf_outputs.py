"""What programs of objects write with bpf_perf_event_output."""

from __future__ import annotations

from contextlib import suppress
from operator import itemgetter

from sonde.engines.base import Written
from sonde.engines.kernel import perf_events
from sonde.engines.kernel.maps import KernelMap
from sonde.engines.kernel.perf_rings import PerfRings
from sonde.formats import perf_events as perf
from sonde.formats.perf_samples import decode_lost, decode_sample
from sonde.machine.system import realtime_offset
from sonde.model.errors import EngineError

_PAGES, _PAGES_OF_PACKETS = 64, 2048
_FIELDS = perf.SAMPLE_TIME | perf.SAMPLE_RAW


def _rings(array: KernelMap, has_packets: bool) -> PerfRings:
    if has_packets:
        with suppress(EngineError):
            return PerfRings(array, _PAGES_OF_PACKETS, perf_events.open_output)
    return PerfRings(array, _PAGES, perf_events.open_output)


class PerfOutput:
    """The rings of one map, and what to wait for."""

    def __init__(self, array: KernelMap, has_packets: bool = False) -> None:
        """Rings for packets are larger, if the user may lock so much memory. Raises EngineError."""
        self._rings = _rings(array, has_packets)
        self.descriptors = self._rings.descriptors
        self._told = 0
        self._offset = realtime_offset()

    def read(self) -> Written:
        """All records since the last call, in the order of their times."""
        found: list[tuple[int, bytes]] = []
        lost = 0
        for reader in self._rings.readers:
            for record in reader.read():
                if record.type == perf.RECORD_LOST:
                    lost += decode_lost(record.body).lost
                elif record.type == perf.RECORD_SAMPLE:
                    sample = decode_sample(record.body, _FIELDS)
                    found.append((sample.fields["time"] + self._offset, bytes(sample.raw)))
            reader.advance()
        self._told += lost
        found.sort(key=itemgetter(0))
        return Written([data for _, data in found], [moment for moment, _ in found], lost)

    def lost_last(self) -> int:
        """How many found no room behind the last record that did: of those no record tells. 0 before Linux 6.0."""
        return max((perf_events.lost_records(self.descriptors) or 0) - self._told, 0)

    def close(self) -> None:
        self._rings.close()
        self.descriptors = []
