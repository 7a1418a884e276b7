"""What perf is to know of the trace events that were sampled, as tracefs tells."""

from __future__ import annotations

import os
from collections.abc import Collection
from mmap import PAGESIZE

from sonde.formats.perf_tracing_data import tracing_data
from sonde.machine.tracefs import find_tracefs
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
