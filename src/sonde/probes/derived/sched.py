"""The `sched` provider."""

from __future__ import annotations

from sonde.probes.derived.definition import Definition, Definitions

DEFINITIONS: Definitions = {
    "on-cpu": (Definition("sched_switch"),),
}
