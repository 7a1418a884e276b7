"""The `dtrace` provider: BEGIN, END and ERROR, which the session fires itself."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model.probe import Internal, Probe
from sonde.providers.pattern import Pattern, matches
from sonde.providers.provider import DTRACE
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.model.catalog import TypedArgument

PROBES = tuple(
    Probe(DTRACE.first + index, "dtrace", "", "", name, Internal(name))
    for index, name in enumerate(("BEGIN", "END", "ERROR"))
)


class DtraceProvider:
    def match(self, pattern: Pattern) -> Sequence[Probe]:
        if not matches(pattern.module, "") or not matches(pattern.function, ""):
            return ()
        return [probe for probe in PROBES if matches(pattern.name, probe.name)]

    def by_id(self, identifier: int) -> Probe | None:
        return PROBES[identifier - DTRACE.first]

    def arguments(self, probe: Probe) -> tuple[TypedArgument, ...] | None:
        return None
