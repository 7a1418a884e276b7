"""What to say of variables that are not there at a probe: what is, and where else they are."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from sonde.model.errors import NO_TYPES, UNAVAILABLE, UNKNOWN_VARIABLE, SourceError
from sonde.model.probe import Probe
from sonde.symbols.dwarf.expressions import UnsupportedError
from sonde.symbols.dwarf.points import CodePoint, Points, live_ranges
from sonde.symbols.dwarf.scopes import DebugVariable

_FEW = 8
_FEW_RANGES = 4


def unknown(asked: str, probe: Probe, points: Points, point: CodePoint, there: Sequence[DebugVariable]) -> SourceError:
    """A name that nothing has at the probe."""
    name = asked.partition("->")[2]
    text, about = f"there is no variable {name} for {asked} at {probe}", (f"{asked} at {probe}",)
    elsewhere = next((each for each in points.elsewhere(point) if each.name == name), None)
    if elsewhere is not None:
        where = whereabouts(elsewhere, points, point)
        return SourceError(UNKNOWN_VARIABLE, text, hint=f"it is in another block of the function, {where}", about=about)

    close = get_close_matches(name, [each.name for each in there], cutoff=0.75)
    if close:
        return SourceError(UNKNOWN_VARIABLE, text, hint=f"did you mean {' or '.join(close)}?", about=about)
    command = f"sonde vars {points.path} {probe.function.partition('+')[0]}"
    hint = f"{listed(there)}; `{command}` lists them with their types"
    return SourceError(UNKNOWN_VARIABLE, text, hint=hint, about=about)


def listed(there: Sequence[DebugVariable]) -> str:
    """A few of the names that there are."""
    if not there:
        return "nothing can be named there"
    more = ", ..." if len(there) > _FEW else ""
    return f"there {'are' if len(there) > 1 else 'is'} {', '.join(each.name for each in there[:_FEW])}{more}"


def not_there(asked: str, variable: DebugVariable, probe: Probe, points: Points, point: CodePoint) -> SourceError:
    """A variable that is optimised out at the probe."""
    where = f"it is available {whereabouts(variable, points, point)}"
    return unavailable(f"{asked} at {probe}", "it is optimised out there", where)


def unavailable(asked: str, why: str, hint: str = "") -> SourceError:
    """A variable that is known and cannot be had."""
    return SourceError(UNAVAILABLE, f"{asked} is not available: {why}", hint=hint, about=(asked, why))


def unlocated(asked: str, error: Exception) -> SourceError:
    """A variable that could not be looked for: its debug information is missing, damaged, or of a kind not known."""
    if isinstance(error, UnsupportedError):
        return unavailable(asked, str(error))
    why = "there is no debug information to tell where it is"
    hint = getattr(error, "strerror", None) or str(error)
    return SourceError(NO_TYPES, f"{asked} is not available: {why}", hint=hint, about=(asked, why))


def whereabouts(variable: DebugVariable, points: Points, point: CodePoint) -> str:
    """The ranges in which a variable is somewhere, as offsets in the function and as lines."""
    ranges = live_ranges(variable)
    if not ranges:
        return "nowhere in the function"
    start = point.scopes[0].ranges[0][0]
    shown = [_range(low - start, high - start, points.lines(point, low, high)) for low, high in ranges[:_FEW_RANGES]]
    more = f" and {len(ranges) - _FEW_RANGES} more ranges" if len(ranges) > _FEW_RANGES else ""
    return f"at offsets {', '.join(shown)}{more}"


def _range(low: int, high: int, lines: str) -> str:
    return f"{low:x} to {high:x}{f' ({lines})' if lines else ''}"
