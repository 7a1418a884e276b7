"""The numbers by which trace events are opened; they are in tracefs."""

from __future__ import annotations

from sonde.machine.tracefs import event_number
from sonde.model.errors import EngineError


def number_of(group: str, name: str) -> int:
    """What perf_event_attr.config of a trace event is. Raises OSError for one that there is not, EngineError for one
    that this user may not know: tracefs is mounted for root alone."""
    try:
        return event_number(group, name)
    except PermissionError as error:
        raise EngineError(
            f"cannot attach to trace event {group}:{name}: its number is in {error.filename}, which this user may not "
            "read; run sonde as root, or give it CAP_DAC_READ_SEARCH besides CAP_BPF and CAP_PERFMON"
        ) from None
