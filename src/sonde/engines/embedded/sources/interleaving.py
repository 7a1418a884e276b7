"""What the kernel tells in rings of its own, put by its times among the records of stops."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from operator import attrgetter, itemgetter

from sonde.engines.embedded.sources.stops import Record
from sonde.typed import Any, Protocol


class Timed(Protocol):
    """An event of a thread; `time` in ns of CLOCK_MONOTONIC."""

    @property
    def tid(self) -> int: ...
    @property
    def time(self) -> int: ...


class Interleaving:
    """Events that wait until no record can come before them. `kind` is that of the records which stand for them."""

    def __init__(self, kind: int) -> None:
        self._kind = kind
        self._waiting: deque[Timed] = deque()
        self._merged: list[Timed] = []

    def merged(self, records: Sequence[Record], found: Sequence[Timed], limit: int) -> Sequence[Record]:
        """The records, and among them the events up to that time, of these and of earlier ones. Behind `limit` there
        may be other records."""
        if found:
            self._waiting = deque(sorted((*self._waiting, *found), key=attrgetter("time")))
        waiting = self._waiting
        self._merged = []
        while waiting and waiting[0].time <= limit:
            self._merged.append(waiting.popleft())
        if not self._merged:
            return records
        made: list[Record] = [(self._kind, 0, each.tid, each.time, n) for n, each in enumerate(self._merged)]
        return sorted([*made, *records], key=itemgetter(3))

    def event(self, record: Record) -> Any:
        """The one that a record of the last merged() stands for."""
        return self._merged[record[4]]
