"""Probes left out by their names (--probe-filter)."""

from __future__ import annotations

import re

from sonde.frontends.bpftrace.check.scope import AttachedProbes
from sonde.model.errors import ProgramError

_ALWAYS = ("special", "self")
"""The kinds of begin and end and of signals, which no filter leaves out."""


def filter_of(text: str) -> re.Pattern[str] | None:
    """The filter for a regular expression, None for "". Raises ProgramError."""
    if not text:
        return None
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ProgramError(f"ERROR: Invalid --probe-filter regex '{text}': {error}") from None


def filtered(found: list[AttachedProbes], names: re.Pattern[str] | None) -> list[AttachedProbes]:
    """Those whose name has the expression somewhere in it."""
    if names is None:
        return found
    return [each for each in found if each.kind in _ALWAYS or names.search(each.text)]


def require_any(count: int) -> None:
    """Raises ProgramError where no probe is left."""
    if not count:
        raise ProgramError("ERROR: No probes to attach")
