"""Records of several CPUs in the order of time: a perf.data file has them ring by ring, in rounds."""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter

from sonde.formats.perf_data_reader import DataRecord

_TIME = itemgetter(0)

_MOST_WAITING = 96 << 20
"""Bytes in memory of records that wait for the end of a round; a file without rounds has all of them in one."""

_OF_EACH = 400
"""Bytes that a record takes in memory besides its own."""


class RoundOrder:
    """Puts records into order. Those that would take too much memory are given away in halves before their round ends,
    as perf does; `is_torn` tells that one came then that was earlier."""

    def __init__(self) -> None:
        self.is_torn = False
        self._waiting: list[tuple[int, DataRecord]] = []
        self._size = 0
        self._given = 0
        self._latest = self._settled = 0

    def add(self, time: int, record: DataRecord) -> list[DataRecord]:
        """Take a record; those that may go before there is no room for them."""
        self._waiting.append((time, record))
        self._latest = max(self._latest, time)
        self._size += len(record.data) + _OF_EACH
        if self._size < _MOST_WAITING:
            return []
        self._waiting.sort(key=_TIME)
        return self._give(len(self._waiting) // 2)

    def end_round(self) -> list[DataRecord]:
        """As PERF_RECORD_FINISHED_ROUND: nothing comes that is earlier than the end of the round before this one."""
        settled, self._settled = self._settled, self._latest
        self._waiting.sort(key=_TIME)
        return self._give(bisect_right(self._waiting, settled, key=_TIME))

    def rest(self) -> list[DataRecord]:
        """Nothing comes any more."""
        self._waiting.sort(key=_TIME)
        return self._give(len(self._waiting))

    def _give(self, count: int) -> list[DataRecord]:
        found = self._waiting[:count]
        del self._waiting[:count]
        if found:
            self.is_torn |= found[0][0] < self._given
            self._given = max(self._given, found[-1][0])
            self._size -= sum(len(record.data) + _OF_EACH for _, record in found)
        return [record for _, record in found]
