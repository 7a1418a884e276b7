"""Perf events of the embedded engine: what samples are written for, and who sees them first (kernel/events/core.c)."""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping

from sonde.engines.embedded.perf.attributes import Attributes, check
from sonde.engines.embedded.perf.ring import PerfRing
from sonde.engines.embedded.perf.sample import Sample, fields
from sonde.formats import perf_events as perf


class PerfEvent:
    """One event. `number` is what its records call it, `cpu` the one it counts on; `ring` is None until it is mapped.

    `lost` counts the samples that found the ring full.
    """

    def __init__(self, attributes: Attributes, number: int = 1, cpu: int = 0) -> None:
        check(attributes)
        self.attributes = attributes
        self.number = number
        self.cpu = cpu
        self.ring: PerfRing | None = None
        self.lost = 0

    def map(self, pages: int) -> memoryview:
        """Make the ring, with `pages` of data, a power of 2: its control page and data. Raises ValueError."""
        self.ring = PerfRing(pages, self.attributes.wakeup_watermark)
        return self.ring.memory

    @property
    def lost_size(self) -> int:
        """The bytes of a PERF_RECORD_LOST of this event."""
        wanted = self.attributes.sample_type if self.attributes.sample_id_all else 0
        return 24 + 8 * sum(bool(wanted & bit) for bit, _, _ in perf.TRAILER_FIELDS)

    def lost_record(self, count: int, values: Mapping[str, int]) -> bytes:
        """PERF_RECORD_LOST: u64 id, u64 how many, and what tells whose it is where attr.sample_id_all asks for that."""
        record = struct.pack("=IHHQQ", perf.RECORD_LOST, 0, self.lost_size, self.number, count)
        if not self.attributes.sample_id_all:
            return record
        return record + fields(perf.TRAILER_FIELDS, self.attributes.sample_type, values)

    def _identity(self) -> dict[str, int]:
        return dict.fromkeys(("id", "stream_id", "identifier"), self.number) | {"cpu": self.cpu}

    def output(self, sample: Sample) -> int:
        """Write the sample into the ring: 0 or -errno (perf_event_output)."""
        sample.values.update(self._identity())
        size = sample.prepare(self.attributes)
        if size > perf.MAX_RECORD:
            # The kernel lets the u16 size of the header wrap, and the ring is unreadable from there on.
            return -errno.E2BIG
        ring = self.ring
        if ring is None:
            return -errno.ENOSPC
        slot = ring.begin(size, self, sample.values)
        if slot is None:
            self.lost += 1
            return -errno.ENOSPC
        sample.write(slot, self.attributes)
        if self.attributes.wakeup_events:
            ring.count_event(self.attributes.wakeup_events)
        slot.end()
        return 0
