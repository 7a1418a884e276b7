"""Probes that fire each time a perf event has counted so far, of the providers `cpc` and `perf`: one file of code for
both, since only how they spell events differs.

Some are listed; any other comes into being when a description names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.model.catalog import TypedArgument
from sonde.model.probe import Firing, PerfEvent, Probe
from sonde.model.samples import CLOCKS
from sonde.providers.pattern import Pattern, matcher, matches, plain
from sonde.providers.provider import IdentifierBlock
from sonde.providers.samples import ARGUMENTS
from sonde.typed import NamedTuple, Protocol

SHORTEST = 10_000
"""The shortest period of clocks in ns: the kernel makes it of any shorter one (perf_swevent_start_hrtimer,
kernel/events/core.c)."""
_MOST = (1 << 63) - 1


class Spelling(Protocol):
    """How a provider spells events."""

    def find(self, module: str, name: str) -> PerfEvent | None:
        """The event that a probe of these names counts, None if they are no event's."""

    def modules(self, pattern: Pattern) -> Iterable[str]:
        """The modules that a pattern may mean."""

    def listed(self) -> Iterable[tuple[str, str]]:
        """Module and name of those that are listed."""

    def absence(self, pattern: Pattern) -> str:
        """Why a pattern matches none, "" if there is nothing to say."""


class CountedEvents:
    """A provider. Keeps the probes made on request, so that each has one identifier."""

    def __init__(
        self, name: str, block: IdentifierBlock, spelling: Spelling, recorded: Iterable[Probe] = ()
    ) -> None:  # fmt: skip
        """`recorded` are probes of a recording, which has events that this machine may not have, or has otherwise."""
        self._name = name
        self._block = block
        self._spelling = spelling
        self._probes: list[Probe] = []
        self._by_name: dict[tuple[str, str], Probe] = {}
        for probe in recorded:
            if probe.provider == name and isinstance(probe.firing, PerfEvent):
                self._add(probe.module, probe.name, probe.firing)
        self._recorded = tuple(self._by_name)
        for module, each in spelling.listed():
            if (module, each) not in self._by_name:
                self._create(module, each)

    def match(self, pattern: Pattern) -> Sequence[Probe]:
        if not matches(pattern.function, ""):
            return ()
        name, module = plain(pattern.name), matcher(pattern.module)
        if name:
            there = [each for each, own in self._recorded if own == name and module(each)]
            found = [self._by_name[each, name] for each in there]
            others = (each for each in self._spelling.modules(pattern) if each not in there)
            made = (self._by_name.get((each, name)) or self._create(each, name) for each in others)
            return [*found, *filter(None, made)]
        test = matcher(pattern.name)
        return [probe for probe in self._probes if module(probe.module) and test(probe.name)]

    def by_id(self, identifier: int) -> Probe | None:
        index = identifier - self._block.first
        return self._probes[index] if index < len(self._probes) else None

    def arguments(self, probe: Probe) -> tuple[TypedArgument, ...] | None:
        return ARGUMENTS

    def absence(self, pattern: Pattern) -> str:
        """Why a pattern matches no probe, "" if there is nothing to say but that."""
        return self._spelling.absence(pattern)

    def _create(self, module: str, name: str) -> Probe | None:
        firing = self._spelling.find(module, name)
        return self._add(module, name, firing) if firing is not None else None

    def _add(self, module: str, name: str, firing: Firing) -> Probe | None:
        identifier = self._block.first + len(self._probes)
        if identifier > self._block.last:
            return None
        probe = Probe(identifier, self._name, module, "", name, firing)
        self._probes.append(probe)
        self._by_name[module, name] = probe
        return probe


class Software(NamedTuple):
    """An event that the kernel itself counts: its number, and its names, those that perf-list(1) has."""

    config: int
    names: tuple[str, ...]


SOFTWARE = (
    Software(0, ("cpu-clock",)),
    Software(1, ("task-clock",)),
    Software(2, ("page-faults", "faults")),
    Software(3, ("context-switches", "cs")),
    Software(4, ("cpu-migrations", "migrations")),
    Software(5, ("minor-faults",)),
    Software(6, ("major-faults",)),
    Software(7, ("alignment-faults",)),
    Software(8, ("emulation-faults",)),
    Software(11, ("cgroup-switches",)),
)
"""enum perf_sw_ids (include/uapi/linux/perf_event.h) without those that never overflow."""


def counted(source: str, config: tuple[int, int, int], period: int, mode: str = "all") -> PerfEvent | None:
    """The firing, None where the period cannot be had."""
    least = SHORTEST if source == "software" and config[0] in CLOCKS else 1
    return PerfEvent(source, config, period, mode) if least <= period <= _MOST else None


def too_short(source: str, config: tuple[int, int, int]) -> str:
    """What to say of a count that `counted` refuses."""
    if source == "software" and config[0] in CLOCKS:
        return f"clocks count nanoseconds, at least {SHORTEST}"
    return "the count is at least 1, and less than 2^63"
