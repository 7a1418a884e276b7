"""What the programs had to drop, read from the map `counters`."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from sonde.consume.events import Drop
from sonde.model.named_maps import COUNTERS, CUT_SHORT, LOST_BREAKPOINTS, LOST_SWITCHES, LOST_TICKS, SKIPPED
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.base import DataSource

PER_CPU = ("records", "aggregations", "nested")
"""Counters reported for each CPU; the others are added up over all."""


_LOST = {LOST_TICKS: "ticks", LOST_SWITCHES: "switches", LOST_BREAKPOINTS: "breakpoints", CUT_SHORT: "turns"}
"""What is told of keys of SKIPPED."""


class Counters:
    """Tells what was lost since it was last asked."""

    def __init__(self, tracing: DataSource) -> None:
        self._tracing = tracing
        self._last: list[tuple[int, ...]] = []
        self._skipped: dict[bytes, int] = {}

    def drops(self) -> Iterator[Drop]:
        """Differences to the last reading, counters in the order of `COUNTERS`; nothing if nothing was lost."""
        now = self._read()
        if not now:
            return
        last = self._last or [(0,) * len(COUNTERS)] * len(now)
        self._last = now
        for place, counter in enumerate(COUNTERS):
            lost = [cpu[place] - before[place] for cpu, before in zip(now, last, strict=True)]
            if counter in PER_CPU:
                yield from (Drop(counter, cpu, count) for cpu, count in enumerate(lost) if count)
            elif sum(lost):
                yield Drop(counter, None, sum(lost))
        yield from self._skipped_firings()

    def _skipped_firings(self) -> Iterator[Drop]:
        """Firings that came while the same program ran: nested, too, but the programs could not count them; and ticks
        and switches that never fired."""
        for key, value in self._tracing.read_map(SKIPPED):
            skipped, before = int.from_bytes(value, "little"), self._skipped.get(key, 0)
            if skipped > before:
                yield Drop(_LOST.get(key, "nested"), None, skipped - before)
            self._skipped[key] = skipped

    def _read(self) -> list[tuple[int, ...]]:
        contents = self._tracing.read_map("counters")
        return list(struct.iter_unpack(f"<{len(COUNTERS)}Q", contents[0][1])) if contents else []
