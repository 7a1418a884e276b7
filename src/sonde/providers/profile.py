"""The `profile` provider: `profile-N` samples every CPU, `tick-N` fires on one, N per second or with a unit of time.

Some are listed; any other comes into being when a description names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sonde.model.catalog import TypedArgument
from sonde.model.probe import Probe, Timer
from sonde.model.units import DAY, HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND
from sonde.providers.pattern import Pattern, matcher, matches, plain
from sonde.providers.provider import PROFILE
from sonde.providers.samples import ARGUMENTS

SHORTEST = 200_000
"""The shortest period in ns: below it a machine would do little else than fire probes."""

UNITS = {
    "ns": 1, "nsec": 1,
    "us": MICROSECOND, "usec": MICROSECOND,
    "ms": MILLISECOND, "msec": MILLISECOND,
    "s": SECOND, "sec": SECOND,
    "m": MINUTE, "min": MINUTE,
    "h": HOUR, "hour": HOUR,
    "d": DAY, "day": DAY,
}  # fmt: skip
"""Nanoseconds per unit; `hz` and no unit at all are rates."""

LISTED = tuple(f"profile-{rate}" for rate in (97, 199, 499, 997, 1999, 4001, 4999)) + tuple(
    f"tick-{rate}" for rate in (1, 10, 100, 500, 1000, 5000)
)

_FORM = re.compile(r"(profile|tick)-([0-9]{1,19})([a-z]*)")


def period(name: str) -> int | None:
    """The period in ns that a probe name of this provider stands for, None if it is not one."""
    form = _FORM.fullmatch(name)
    if not form:
        return None
    count, unit = int(form[2]), form[3]
    if unit in ("", "hz"):
        value = SECOND // count if count else 0
    else:
        value = count * UNITS.get(unit, 0)
    return value if SHORTEST <= value < 1 << 63 else None


class ProfileProvider:
    """Keeps the probes made on request, so that each has one identifier."""

    def __init__(self, recorded: Iterable[Probe] = ()) -> None:
        """`recorded` are probes of a recording, which may have periods that no machine is asked for."""
        self._probes = [_probe(index, name) for index, name in enumerate(LISTED)]
        self._by_name = {probe.name: probe for probe in self._probes}
        for probe in recorded:
            if probe.provider == "profile" and isinstance(probe.firing, Timer) and probe.name not in self._by_name:
                self._add(probe)

    def match(self, pattern: Pattern) -> Sequence[Probe]:
        if not matches(pattern.module, "") or not matches(pattern.function, ""):
            return ()
        name = plain(pattern.name)
        if name:
            probe = self._by_name.get(name) or self._create(name)
            return (probe,) if probe else ()
        test = matcher(pattern.name)
        return [probe for probe in self._probes if test(probe.name)]

    def by_id(self, identifier: int) -> Probe | None:
        index = identifier - PROFILE.first
        return self._probes[index] if index < len(self._probes) else None

    def arguments(self, probe: Probe) -> tuple[TypedArgument, ...] | None:
        return ARGUMENTS

    def _create(self, name: str) -> Probe | None:
        return self._add(_probe(0, name)) if period(name) is not None else None

    def _add(self, probe: Probe) -> Probe | None:
        identifier = PROFILE.first + len(self._probes)
        if identifier > PROFILE.last:
            return None
        self._probes.append(probe._replace(id=identifier))
        self._by_name[probe.name] = self._probes[-1]
        return self._probes[-1]


def _probe(index: int, name: str) -> Probe:
    firing = Timer(period(name) or SECOND, name.startswith("profile-"))
    return Probe(PROFILE.first + index, "profile", "", "", name, firing)
