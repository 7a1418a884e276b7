"""Events that perf counts, by the names that bpftrace has for them."""

from __future__ import annotations

from sonde.typed import NamedTuple


class CountedEvent(NamedTuple):
    """A shorter name, "" without one, and each how many times (`rate`) it fires, unless the program says so; `name` is
    the kernel's where bpftrace calls it otherwise."""

    alias: str
    rate: int
    name: str = ""


SOFTWARE = {
    "alignment-faults": CountedEvent("", 1), "bpf-output": CountedEvent("", 1),
    "context-switches": CountedEvent("cs", 1000), "cpu-clock": CountedEvent("cpu", 1_000_000),
    "cpu-migrations": CountedEvent("", 1), "dummy": CountedEvent("", 1), "emulation-faults": CountedEvent("", 1),
    "major-faults": CountedEvent("", 1), "minor-faults": CountedEvent("", 100),
    "page-faults": CountedEvent("faults", 100), "task-clock": CountedEvent("", 1),
}  # fmt: skip
HARDWARE = {
    "backend-stalls": CountedEvent("", 1_000_000, "stalled-cycles-backend"),
    "branch-instructions": CountedEvent("branches", 100_000), "branch-misses": CountedEvent("", 100_000),
    "bus-cycles": CountedEvent("", 100_000), "cache-misses": CountedEvent("", 1_000_000),
    "cache-references": CountedEvent("", 1_000_000), "cpu-cycles": CountedEvent("cycles", 1_000_000),
    "frontend-stalls": CountedEvent("", 1_000_000, "stalled-cycles-frontend"),
    "instructions": CountedEvent("", 1_000_000), "ref-cycles": CountedEvent("", 1_000_000),
}  # fmt: skip


def event_named(events: dict[str, CountedEvent], name: str) -> tuple[str, CountedEvent] | None:
    """By its name or the shorter one: what the kernel calls it, and the event."""
    for full, each in events.items():
        if name in (full, each.alias) and name:
            return each.name or full, each
    return None
