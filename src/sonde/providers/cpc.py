"""The `cpc` provider: `cpc:::EVENT-MODE-COUNT`, DTrace's spelling, where EVENT has an underscore for each dash of
perf-list(1), MODE is all, user or kernel, and COUNT is how often the event happens between two firings.

The enumerators of include/uapi/linux/perf_event.h in small letters are names as well, and those that are listed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sonde.machine import event_sources
from sonde.model.probe import PerfEvent
from sonde.providers.counted import SOFTWARE, Software, counted, too_short
from sonde.providers.pattern import Pattern, matches, plain
from sonde.typed import NamedTuple

MODES = ("all", "user", "kernel")

SOFTWARE_ENUMERATORS = {5: "page_faults_min", 6: "page_faults_maj"}
"""Software events that the kernel's headers call otherwise than perf-list(1) does."""

HARDWARE = (
    ("cpu_cycles", "cycles"),
    ("instructions",),
    ("cache_references",),
    ("cache_misses",),
    ("branch_instructions", "branches"),
    ("branch_misses",),
    ("bus_cycles",),
    ("stalled_cycles_frontend", "idle_cycles_frontend"),
    ("stalled_cycles_backend", "idle_cycles_backend"),
    ("ref_cpu_cycles", "ref_cycles"),
)
"""enum perf_hw_id (include/uapi/linux/perf_event.h), by number; the first name is the enumerator's."""

_CACHES = ("L1_dcache", "L1_icache", "LLC", "dTLB", "iTLB", "branch", "node")
_OPERATIONS = (("loads", "load_misses"), ("stores", "store_misses"), ("prefetches", "prefetch_misses"))
"""enum perf_hw_cache_id and perf_hw_cache_op_id, by number; for each operation accesses and misses."""

LISTED_COUNTS = {0: 1_000_000, 1: 1_000_000}
"""The counts with which software events are listed that are no single occurrences: ns."""
_LISTED_HARDWARE = 1_000_000

_FORM = re.compile(r"(\w+)-(all|user|kernel)-([0-9]+)", re.ASCII)


class _Event(NamedTuple):
    source: str
    config: int


def _software() -> dict[str, _Event]:
    found = {}
    for event in SOFTWARE:
        for name in (*(each.replace("-", "_") for each in event.names), _listed_software(event)):
            found[name] = _Event("software", event.config)
    return found


def _listed_software(event: Software) -> str:
    name = SOFTWARE_ENUMERATORS.get(event.config, event.names[0].replace("-", "_"))
    return f"perf_count_sw_{name}"


def _hardware() -> dict[str, _Event]:
    found = {name: _Event("hardware", config) for config, names in enumerate(HARDWARE) for name in names}
    found |= {f"perf_count_hw_{names[0]}": _Event("hardware", config) for config, names in enumerate(HARDWARE)}
    for cache, place in enumerate(_CACHES):
        for operation, results in enumerate(_OPERATIONS):
            for result, what in enumerate(results):
                found[f"{place}_{what}"] = _Event("hw-cache", cache | operation << 8 | result << 16)
    return found


class CounterNames:
    """The provider's spelling. `root` is where the kernel tells of event sources."""

    def __init__(self, root: str = event_sources.DEVICES) -> None:
        self._software, self._hardware = _software(), _hardware()
        self._has_hardware = event_sources.has_processor_events(root)

    def find(self, module: str, name: str) -> PerfEvent | None:
        form = _FORM.fullmatch(name)
        event = self._event(form[1]) if form and not module else None
        return counted(event.source, (event.config, 0, 0), int(form[3]), form[2]) if form and event else None

    def _event(self, name: str) -> _Event | None:
        found = self._software.get(name)
        return found or (self._hardware.get(name) if self._has_hardware else None)

    def is_hardware(self, name: str) -> bool:
        """Whether an event of the processor is called so, be there such events here or not."""
        return name in self._hardware

    def modules(self, pattern: Pattern) -> Iterable[str]:
        return ("",) if matches(pattern.module, "") else ()

    def listed(self) -> Iterable[tuple[str, str]]:
        for event in SOFTWARE:
            yield "", f"{_listed_software(event)}-all-{LISTED_COUNTS.get(event.config, 1)}"
        if self._has_hardware:
            for names in HARDWARE:
                yield "", f"perf_count_hw_{names[0]}-all-{_LISTED_HARDWARE}"

    def absence(self, pattern: Pattern) -> str:
        name = plain(pattern.name)
        if not name or pattern.module or pattern.function:
            return ""
        form = _FORM.fullmatch(name)
        if form is None:
            return f"a cpc probe is EVENT-MODE-COUNT: cpu_clock-all-1000000; MODE is one of {', '.join(MODES)}"
        event = self._event(form[1])
        if event is not None:
            return too_short(event.source, (event.config, 0, 0))
        there = ", ".join(event.names[0].replace("-", "_") for event in SOFTWARE)
        if form[1] in self._hardware:
            text = "this machine shows no performance monitoring unit (PMU), so it has no hardware events"
            return f"{text} such as {form[1]}; software events are {there}"
        return f"there is no event {form[1]}; software events are {there}"
