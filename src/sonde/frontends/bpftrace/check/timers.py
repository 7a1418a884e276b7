"""Probes that fire by time: `interval:s:1`, `profile:hz:99`, or with a duration, `interval:100ms`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sonde.frontends.bpftrace.check.scope import AttachedProbes
from sonde.frontends.bpftrace.errors import BtError
from sonde.frontends.bpftrace.syntax import nodes
from sonde.frontends.bpftrace.syntax.lexer import integer_of, number_of
from sonde.model.catalog import Catalog
from sonde.model.units import MICROSECOND, MILLISECOND, SECOND

UNITS = ("us", "ms", "s", "hz")
"""Of times between firings."""

_LENGTHS = {"us": MICROSECOND, "ms": MILLISECOND, "s": SECOND}
_SHORTEST = 1000
"""Nanoseconds of a duration."""

_SHORTEST_FIRED = 200 * MICROSECOND
"""Oftener no timer of sonde fires: the machine would do little else."""


def timed(
    point: nodes.AttachPoint, kind: str, fields: Sequence[str], catalog: Catalog, told: Callable[[BtError], None]
) -> list[AttachedProbes]:
    """The probe of a description; one that wants to fire too often fires as often as may be, which is `told`. Raises
    BtError."""
    if len(fields) == 1:
        period = _duration(point, kind, fields[0])
    elif len(fields) == 2:
        period = _period(point, kind, *fields)
    else:
        raise BtError(f"{kind} probe type requires 1 or 2 arguments, found {len(fields)}", point.at)
    text = ":".join((kind, *fields))
    if period < _SHORTEST_FIRED:
        told(BtError(f"{text} fires every {_SHORTEST_FIRED // MICROSECOND} us, which is the shortest time", point.at))
        period = _SHORTEST_FIRED
    found = catalog.match("profile", "", "", f"{'tick' if kind == 'interval' else 'profile'}-{period}ns")
    if not found:
        raise BtError(f"{text} fires too seldom", point.at)
    return [AttachedProbes(point, text, kind, tuple(found))]


def _period(point: nodes.AttachPoint, kind: str, unit: str, count: str) -> int:
    """Nanoseconds between firings."""
    if unit not in UNITS:
        raise BtError(f"{unit} is not an accepted unit of time", point.at, "us, ms, s and hz are")
    rate = integer_of(count)
    if rate is None:
        raise BtError(f"Invalid rate of {kind} probe: {what_is_wrong(count)}", point.at)
    if rate <= 0:
        raise BtError(f"{kind} frequency should be a positive integer", point.at)
    return rate * _LENGTHS[unit] if unit in _LENGTHS else SECOND // rate


def what_is_wrong(number: str) -> str:
    """With what should have been a number."""
    return f"{'invalid trailing bytes' if number[:1].isdigit() else 'invalid integer'}: {number}"


def _duration(point: nodes.AttachPoint, kind: str, text: str) -> int:
    if not text[:1].isdigit():
        raise BtError(f"Invalid duration of {kind} probe: {text}", point.at)
    period = number_of(text, point.at)[0]
    if period < _SHORTEST:
        wrong = f"Invalid rate of {kind} probe. Minimum is {_SHORTEST} or 1us. Found: {period} nanoseconds"
        raise BtError(wrong, point.at)
    return period
