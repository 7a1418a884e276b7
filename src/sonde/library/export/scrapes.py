"""Between the thread that traces and those that answer scrapes: the first is asked for a snapshot, and waits for
nobody."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from sonde.library.aggregations import Key
from sonde.library.export.snapshots import MetricSnapshot, SnapshotMaker
from sonde.session.participants import Sight

_REST = 5
"""Snapshots are at least so many times as far apart as one takes: not to be in the way of what is measured."""
_LEAST_APART = 0.1
_PATIENCE = 2.0
"""Seconds that a scrape waits for a snapshot; then it gets the last one, whose time is in it."""


class Scrapes:
    """A `session.Watcher` that takes a snapshot where a scrape has asked for one."""

    drawn: frozenset[int] = frozenset()

    def __init__(self, maker: SnapshotMaker, ready: Callable[[], None]) -> None:
        """`ready` is called when probes fire."""
        self._maker = maker
        self._ready = ready
        self._sight: Sight | None = None
        self._changed = threading.Condition()
        self._wanted = False
        self._latest: MetricSnapshot | None = None
        self._due = 0.0

    # In the thread that traces.

    def begin(self, sight: Sight) -> None:
        self._sight = sight
        self._take()

    def started(self) -> None:
        self._ready()

    def poll(self) -> float:
        """Take a snapshot if one is wanted, and it is not too soon."""
        if self._wanted and time.monotonic() >= self._due:
            self._take()
        return self._due if self._wanted else float("inf")

    def finish(self) -> None:
        """Tracing is over, and what END has counted is there."""
        self._take()

    def kept_as(self, aggregation: int, key: Key) -> Key | None:
        """One key for each label set."""
        return self._maker.kept_as(aggregation, key)

    def _take(self) -> None:
        assert self._sight is not None
        made = self._maker.take(self._sight)
        self._due = time.monotonic() + max(_REST * made.seconds, _LEAST_APART)
        with self._changed:
            self._latest = made
            self._wanted = False
            self._changed.notify_all()

    # In any thread.

    def latest(self) -> MetricSnapshot:
        """One that was taken after this was called, if that comes soon enough, else the last."""
        with self._changed:
            before = self._latest
            self._wanted = True
            self._changed.wait_for(lambda: self._latest is not before, _PATIENCE)
            assert self._latest is not None
            return self._latest
