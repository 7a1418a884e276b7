"""The `perf` provider: `perf:SOURCE::EVENT-COUNT`, an event as /sys/bus/event_source/devices/SOURCE/events names it.

SOURCE may be left out, then it is each that has the event. An underscore may stand for a dash. Of `EVENT-u-COUNT` and
`EVENT-k-COUNT` only what happens in user code or in the kernel is counted, as perf's modifiers have it; so no name is
one of the provider cpc as well. Of the source `breakpoint` an event is a place in memory (`watched.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sonde.machine import event_sources
from sonde.machine.event_sources import EventSourceError
from sonde.model.errors import BAD_DESCRIPTION, SourceError
from sonde.model.probe import BREAKPOINT, PerfEvent
from sonde.providers import watched
from sonde.providers.counted import SOFTWARE, counted, too_short
from sonde.providers.pattern import Pattern, matcher, plain

_FORM = re.compile(r"(.+?)(?:-([uk]))?-([0-9]+)")
_MODES = {"u": "user", "k": "kernel", None: "all"}
_LISTED_COUNT = 1_000_000
_ONCE = 1
"""With which count events are listed that are no clocks of the kernel's own."""


class SourceNames:
    """The provider's spelling. `root` is where the kernel tells of event sources."""

    def __init__(self, root: str = event_sources.DEVICES) -> None:
        self._root = root
        self._events: dict[str, dict[str, str]] = {}

    def find(self, module: str, name: str) -> PerfEvent | None:
        form = _FORM.fullmatch(name)
        if form is None:
            return None
        config = self._config(module, form[1])
        return counted(module, config, int(form[3]), _MODES[form[2]]) if config else None

    def _config(self, source: str, name: str) -> tuple[int, int, int] | None:
        """Raises SourceError where there is such an event, and no probe can be made of it."""
        if source == "software":
            number = next((each.config for each in SOFTWARE if _dashed(name) in each.names), None)
            return None if number is None else (number, 0, 0)
        if source == BREAKPOINT:
            return watched.encode(name)
        text = next((text for each, text in self._of(source).items() if _dashed(each) == _dashed(name)), None)
        if text is None:
            return None
        try:
            return event_sources.encode(source, text, self._root)
        except EventSourceError as error:
            raise SourceError(BAD_DESCRIPTION, f"event {name} of {source} cannot be probed: {error}") from None

    def _of(self, source: str) -> dict[str, str]:
        if source not in self._events:
            self._events[source] = event_sources.events(source, self._root)
        return self._events[source]

    def modules(self, pattern: Pattern) -> Iterable[str]:
        return filter(matcher(pattern.module), event_sources.sources(self._root))

    def listed(self) -> Iterable[tuple[str, str]]:
        for source in event_sources.sources(self._root):
            if source == "software":
                clocks = range(2)
                for event in SOFTWARE:
                    yield source, f"{event.names[0]}-{_LISTED_COUNT if event.config in clocks else _ONCE}"
            yield from (
                (source, f"{name}-{_LISTED_COUNT}") for name in self._of(source) if self._is_whole(source, name)
            )

    def _is_whole(self, source: str, name: str) -> bool:
        """Whether a probe can be made of it."""
        try:
            return self._config(source, name) is not None
        except SourceError:
            return False

    def absence(self, pattern: Pattern) -> str:
        name = plain(pattern.name)
        if not name or pattern.function:
            return ""
        form = _FORM.fullmatch(name)
        if form is None:
            return "a perf probe is EVENT-COUNT, perhaps behind its source: perf:software::page-faults-1"
        if pattern.module == BREAKPOINT and BREAKPOINT in self.modules(pattern):
            return watched.absence(form[1]) or too_short(BREAKPOINT, (0, 0, 0))
        there = [source for source in self.modules(pattern) if source == "software" or self._of(source)]
        for source in there:
            config = self._config(source, form[1])
            if config:
                return too_short(source, config)
        if pattern.module and not there:
            found = ", ".join(event_sources.sources(self._root)) or "none"
            return f"no event source {pattern.module} has named events; event sources are {found}"
        return f"there is no event {form[1]}; `sonde -l -P perf` lists those of this machine"


def _dashed(name: str) -> str:
    return name.replace("_", "-")
