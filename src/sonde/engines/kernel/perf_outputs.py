"""What programs of objects write with bpf_perf_event_output."""

from __future__ import annotations

from sonde.engines.kernel import perf_events
from sonde.engines.kernel.maps import KernelMap
from sonde.engines.kernel.perf_rings import PerfRings
from sonde.formats import perf_events as perf
from sonde.formats.perf_samples import decode_lost, decode_sample
from sonde.typed import NamedTuple

_PAGES = 64


class Written(NamedTuple):
    """What was read: the records' bytes, each padded as the kernel pads them, and how many found no room."""

    records: list[bytes]
    lost: int


class PerfOutput:
    """The rings of one map, and what to wait for."""

    def __init__(self, array: KernelMap) -> None:
        """Raises EngineError."""
        self._rings = PerfRings(array, _PAGES, perf_events.open_output)
        self.descriptors = self._rings.descriptors
        self._told = 0

    def read(self) -> Written:
        """All records since the last call, those of one CPU in their order."""
        records: list[bytes] = []
        lost = 0
        for reader in self._rings.readers:
            for record in reader.read():
                if record.type == perf.RECORD_LOST:
                    lost += decode_lost(record.body).lost
                elif record.type == perf.RECORD_SAMPLE:
                    records.append(bytes(decode_sample(record.body, perf.SAMPLE_RAW).raw))
            reader.advance()
        self._told += lost
        return Written(records, lost)

    def lost_last(self) -> int:
        """How many found no room behind the last record that did: of those no record tells. 0 before Linux 6.0."""
        return max((perf_events.lost_records(self.descriptors) or 0) - self._told, 0)

    def close(self) -> None:
        self._rings.close()
        self.descriptors = []
