"""What perf is to know of the trace events that were sampled, as tracefs tells."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from mmap import PAGESIZE

from sonde.formats.perf_tracing_data import tracing_data
from sonde.machine.tracefs import find_tracefs
from sonde.model.probe import Probe, Tracepoint
from sonde.untrusted import read_kernel


def of_events(numbers: Collection[int], root: str | None = None) -> bytes:
    """The content of the feature, for trace events by their numbers. Raises OSError."""
    events = f"{root or find_tracefs()}/events"
    formats: dict[str, list[bytes]] = {}
    for group in sorted(os.listdir(events)):
        for name in sorted(os.listdir(f"{events}/{group}")) if os.path.isdir(f"{events}/{group}") else ():
            if _number(f"{events}/{group}/{name}/id") in numbers:
                formats.setdefault(group, []).append(read_kernel(f"{events}/{group}/{name}/format"))
    return tracing_data(read_kernel(f"{events}/header_page"), read_kernel(f"{events}/header_event"), formats, PAGESIZE)


def _number(path: str) -> int:
    """An event's, -1 for what is no event."""
    try:
        return int(read_kernel(path))
    except (OSError, ValueError):
        return -1


def formats_of(probes: Iterable[Probe], root: str | None = None) -> tuple[tuple[str, str, str], ...]:
    """The groups and names of the trace events that fire these probes, with their format texts. Raises OSError."""
    events = [each.firing for each in probes if isinstance(each.firing, Tracepoint)]
    found = {}
    for group, name in dict.fromkeys((each.group, each.name) for each in events):
        text = read_kernel(f"{root or find_tracefs()}/events/{group}/{name}/format")
        found[group, name] = text.decode("utf-8", "replace")
    return tuple((group, name, text) for (group, name), text in found.items())
