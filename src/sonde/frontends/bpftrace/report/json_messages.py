"""What a running program says of itself, as JSON: its own messages, and mistakes of it."""

from __future__ import annotations

import os
import re

from sonde.consume.events import Fault
from sonde.frontends.bpftrace.program_text import BtSource
from sonde.frontends.bpftrace.report.faults import EFAULT, failed_helper, told
from sonde.frontends.bpftrace.report.json_objects import object_line
from sonde.model.spec import TracingSpec
from sonde.typed import Any

HELPER = "helper_error"
_TOLD = re.compile(r"(.+?):(\d+)(?::(\d+))?-\d+: (?:ERROR|WARNING): ", re.DOTALL)
"""What stands before a message: file, line and column; the lines of a place that goes on have none."""
_LOOKED_UP = re.compile(r"helper: (\w+), retcode: (-?\d+)")


def message_line(name: str, text: bytes) -> bytes:
    """Of errorf() or warnf(), or of an element that is not there, as they are printed."""
    shown = text.decode(errors="surrogateescape")
    place = _TOLD.match(shown)
    if place is None:
        return _line(name, {"msg": shown})
    found: dict[str, Any] = {"msg": shown[place.end() :]}
    if name == HELPER and (helper := _LOOKED_UP.search(shown)) is not None:
        code = int(helper[2])
        found = {"msg": os.strerror(-code), "helper": helper[1], "retcode": code}
    return _line(name, found | {"filename": place[1], "line": int(place[2]), "col": int(place[3] or 1)})


def fault_line(fault: Fault, spec: TracingSpec, source: BtSource, tells: bool = False) -> bytes:
    """A mistake of a running program; `tells` of the helper that has failed."""
    message, span = told(fault, spec.programs, source)
    found: dict[str, Any] = {"msg": message}
    helper = failed_helper(fault, spec.programs) if tells and span is not None else ""
    if helper:
        found = {"msg": os.strerror(EFAULT), "helper": helper, "retcode": -EFAULT}
    if span is not None:
        name, before = source.text.origin(span.line)
        found |= {"filename": name, "line": span.line - before, "col": span.column}
    return _line(HELPER if helper else "runtime_error", found)


def _line(kind: str, found: dict[str, Any]) -> bytes:
    return object_line({"type": kind, **found})
