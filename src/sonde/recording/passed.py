"""What stands in a perf.data file between the records of programs: samples and what processes did."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable
from operator import itemgetter

from sonde.engines.kernel.process_records import decode
from sonde.formats import perf_events as perf
from sonde.formats.perf_data_reader import DataRecord
from sonde.formats.perf_records import SAMPLED
from sonde.formats.perf_ring import PerfRecord
from sonde.model.samples import SampleSink
from sonde.symbols.process_events import ProcessEvent

_TIME = itemgetter(0)
_WORD = struct.Struct("=Q")
_TIME_FROM_END = 24
_LATER_FIELDS = 16
"""Bytes of struct sample_id behind pid, tid and time, with `samples.SAMPLE_TYPE`."""
_OF_PROCESSES = frozenset((perf.RECORD_COMM, perf.RECORD_EXIT, perf.RECORD_FORK, perf.RECORD_MMAP2))


def _ignore(event: ProcessEvent) -> None:
    pass


class Passed:
    """Records that wait until it is their time to be given to a sink; without one they are dropped then."""

    def __init__(self) -> None:
        self._sink: SampleSink | None = None
        self._process: Callable[[ProcessEvent], None] = _ignore
        self._waiting: list[tuple[int, DataRecord]] = []
        self._ready: list[tuple[int, DataRecord]] = []
        self._latest = 0
        self.settled = 0
        """Nothing earlier than that comes any more."""
        self._before = 0

    def give_to(self, sink: SampleSink, process: Callable[[ProcessEvent], None]) -> None:
        """`process` is told what processes have done, each before the samples behind it are given to the sink."""
        self._sink, self._process = sink, process

    def add(self, record: DataRecord) -> None:
        """A record that stands next in the file. Raises struct.error for one that is too short."""
        at = SAMPLED.time if record.type == perf.RECORD_SAMPLE else len(record.data) - _TIME_FROM_END
        if at < perf.HEADER_SIZE:
            raise struct.error("a record without its time")
        (time,) = _WORD.unpack_from(record.data, at)
        self._latest = max(self._latest, time)
        self._waiting.append((time, record))

    def end_round(self) -> None:
        """As PERF_RECORD_FINISHED_ROUND: nothing comes that is earlier than the end of the round before this one."""
        self.settled, self._before = self._before, self._latest
        self._settle()

    def settle_all(self) -> None:
        """Nothing comes any more."""
        self.settled = (1 << 64) - 1
        self._settle()

    def _settle(self) -> None:
        self._waiting.sort(key=_TIME)
        count = bisect_right(self._waiting, self.settled, key=_TIME)
        self._ready += self._waiting[:count]
        del self._waiting[:count]

    def times(self) -> list[int]:
        """When what may be given now has happened, ascending."""
        return [time for time, _ in self._ready]

    def release(self, until: int) -> None:
        """Give what is not later."""
        count = bisect_right(self._ready, until, key=_TIME)
        ready = self._ready[:count]
        del self._ready[:count]
        if self._sink is None or not ready:
            return
        for _, record in ready:
            if record.type in _OF_PROCESSES:
                self._sink.finish(0)
                event = decode(PerfRecord(record.type, record.misc, record.body[:-_LATER_FIELDS]))
                if event is not None:
                    self._process(event)
            self._sink.records(0, memoryview(record.data))
        self._sink.finish(0)
