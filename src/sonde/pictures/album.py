"""The pictures of one session: looks at aggregations while it runs, and makes the files when it is over.

All that was counted is in them, whatever a clear() or trunc() has taken from what the program prints.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from sonde.consume.options import Options
from sonde.consume.store import Key
from sonde.formats.profile import Profile
from sonde.model.aggregating import without_extent
from sonde.model.aggregation_words import Words
from sonde.model.known_options import default_number
from sonde.model.records import AggregationSpec
from sonde.model.units import SECOND
from sonde.pictures import heatmap
from sonde.pictures.frames import KeyFrames
from sonde.pictures.heat import Columns, Heat
from sonde.pictures.profiles import profile_of
from sonde.pictures.requests import HEATMAP, PictureTask
from sonde.pictures.saved import written
from sonde.report.symbolizer import Symbolizer
from sonde.typed import NamedTuple, Protocol

HEAT_RATE = default_number("heatrate")
"""Nanoseconds from one look at a histogram to the next, if nothing else is asked for."""

_REST = 5
"""Looks are at least so many times as far apart as one takes: not to be in the way of what is measured."""


class AggregationSight(Protocol):
    """Where aggregations are to be seen."""

    def everything(self, aggregation: int) -> dict[Key, Words]:
        """All that the aggregation of this number has counted so far."""


class File(NamedTuple):
    """A file's bytes, and in words what it shows."""

    task: PictureTask
    data: bytes
    summary: str


class Album:
    """Give it to a `Session`, then take the `files`. `earlier` is the profile, or the number of the aggregation, that
    flame graphs are compared with. `rate`: ns from one look at a histogram to the next."""

    def __init__(
        self,
        tasks: Sequence[PictureTask],
        specs: Sequence[AggregationSpec],
        symbolizer: Symbolizer,
        options: Options,
        exporter: str,
        earlier: Profile | int | None = None,
        rate: int = HEAT_RATE,
    ) -> None:
        self._tasks = tasks
        self.drawn = frozenset(number for task in tasks if task.kind != HEATMAP for number in task.aggregations)
        self._specs = specs
        self._frames = KeyFrames(symbolizer, options)
        self._exporter = exporter
        self._earlier = earlier
        self._began = 0
        self._profiles: dict[int, Profile] = {}
        self._columns = {number: Columns() for task in tasks if task.kind == HEATMAP for number in task.aggregations}
        self._heats: dict[int, tuple[Heat, list[str]]] = {}
        self._rate = rate
        self._due: int | None = None

    def begin(self, sight: AggregationSight) -> None:
        """Tracing is about to begin."""
        self._look = sight.everything
        self._began = time.time_ns()
        self._due = time.monotonic_ns() if self._columns else None

    def started(self) -> None:
        """It has been looked at since the beginning."""

    def kept_as(self, aggregation: int, key: Key) -> Key:
        """Each key is drawn."""
        return key

    def poll(self) -> float:
        """Look at what changes in time, if it is time to; when to look next, by time.monotonic()."""
        if self._due is None:
            return float("inf")
        now = time.monotonic_ns()
        if now >= self._due:
            if self._look_at_histograms():
                self._rate *= 2
            took = time.monotonic_ns() - now
            # By the clock, not by when it came to it: columns are to be alike.
            self._due = max(self._due + self._rate, now + self._rate // 2, now + _REST * took)
        return self._due / SECOND

    def _look_at_histograms(self) -> bool:
        """Whether looks ought to be half as frequent."""
        full = False
        for number, columns in self._columns.items():
            spec = self._specs[number]
            counted = {key: without_extent(spec, words) for key, words in self._look(number).items()}
            full = columns.look(time.time_ns() - self._began, counted) or full
        return full

    def finish(self) -> None:
        """Tracing is over, and the names of what has run can still be had."""
        duration = time.time_ns() - self._began
        wanted = {number for task in self._tasks if task.kind != HEATMAP for number in task.aggregations}
        if isinstance(self._earlier, int):
            wanted.add(self._earlier)
        for number in sorted(wanted):
            counted = self._look(number)
            self._profiles[number] = profile_of(self._specs[number], counted, self._frames, self._began, duration)
        self._look_at_histograms()
        for number, columns in self._columns.items():
            heat = columns.finished()
            names = [self._frames.label(self._specs[number].keys, key) for key in heat.keys]
            self._heats[number] = heat, names

    def files(self) -> Iterator[File]:
        """The files, one after the other."""
        for task in self._tasks:
            if task.kind == HEATMAP:
                yield self._heatmap(task)
                continue
            profiles = [self._profiles[number] for number in task.aggregations]
            data = written(task.kind, task.path, profiles, self._exporter, self._compared())
            yield File(task, data, _summary(profiles))

    def _heatmap(self, task: PictureTask) -> File:
        (number,) = task.aggregations
        heat, names = self._heats[number]
        draw = heatmap.heatmap_svg if task.path.lower().endswith(".svg") else heatmap.heatmap_html
        text = draw(heatmap.HeatMap(self._specs[number], heat, names, self._began))
        summary = f"{number_of(heat.total, 'value')} in {number_of(len(heat.edges) - 1, 'column')}"
        return File(task, text.encode(errors="replace"), summary)

    def _compared(self) -> Profile | None:
        return self._profiles[self._earlier] if isinstance(self._earlier, int) else self._earlier


def _summary(profiles: Sequence[Profile]) -> str:
    stacks = sum(len(profile.stacks) for profile in profiles)
    parts = [number_of(stacks, "stack")]
    for profile in profiles:
        parts += [note if len(profiles) == 1 else f"{profile.title}: {note}" for note in profile.notes]
    return "; ".join(parts)


def number_of(number: int, thing: str) -> str:
    """`1 stack`, `1,000 stacks`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
