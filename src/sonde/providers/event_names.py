"""Perf events by a source and a name, as perf-list(1) writes them: `software`, `cpu` and other sources of
/sys/bus/event_source/devices, with an underscore or a dash between the words of a name.

The names that perf has for the processor's usual events (`cycles`, `LLC-loads`) are those of the source `cpu`.
"""

from __future__ import annotations

from sonde.machine import event_sources
from sonde.model.errors import SourceError
from sonde.model.probe import PerfEvent
from sonde.providers.counted import SOFTWARE
from sonde.providers.cpc import CounterNames
from sonde.providers.perf_sources import SourceNames

_OF_PROCESSOR = ("cpu", "hardware")
_ANY = 1 << 20
"""A count that all events can have."""


class NoEventError(Exception):
    """There is none of these names; the text says why."""


class EventNames:
    """`root` is where the kernel tells of event sources."""

    def __init__(self, root: str = event_sources.DEVICES) -> None:
        self._root = root

    def find(self, source: str, name: str) -> tuple[str, tuple[int, int, int]]:
        """The source and words of a `PerfEvent`. Raises NoEventError."""
        found = self._of_source(source, name)
        if found is None and source in _OF_PROCESSOR:
            found = self._of_processor(name)
        if found is None:
            raise NoEventError(self._absence(source, name))
        return found.source, found.config

    def _of_source(self, source: str, name: str) -> PerfEvent | None:
        if source not in ("software", *event_sources.sources(self._root)):
            return None
        try:
            return SourceNames(self._root).find(source, f"{name}-{_ANY}")
        except SourceError as error:
            raise NoEventError(error.text) from None

    def _of_processor(self, name: str) -> PerfEvent | None:
        """One of the usual events, None if it is none. Raises NoEventError where there is no PMU."""
        names = CounterNames(self._root)
        given = f"{name.replace('-', '_')}-all-{_ANY}"
        if not names.is_hardware(name.replace("-", "_")):
            return None
        found = names.find("", given)
        if found is None:
            raise NoEventError(
                f"this machine shows no performance monitoring unit (PMU), so it has no hardware events such as {name}"
            )
        return found

    def _absence(self, source: str, name: str) -> str:
        sources = event_sources.sources(self._root)
        if source in _OF_PROCESSOR and not event_sources.has_processor_events(self._root):
            return "this machine shows no performance monitoring unit (PMU), so it has no hardware events"
        if source not in (*sources, "software", *_OF_PROCESSOR):
            return f"there is no event source {source}; event sources are {', '.join(sources) or 'none'}"
        if source == "software":
            there = ", ".join(each.names[0] for each in SOFTWARE)
        else:
            there = ", ".join(event_sources.events(source, self._root))
        return f"event source {source} has no event {name}; it has {there or 'none with a name'}"
