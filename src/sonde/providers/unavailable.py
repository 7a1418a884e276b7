"""What to say of variables that are not there at a probe: what is, and where else they are."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.model.errors import DError
from sonde.model.probe import Probe
from sonde.symbols.dwarf.points import Point, Points, live_ranges
from sonde.symbols.dwarf.scopes import Variable

_FEW = 8
_FEW_RANGES = 4


def unknown(asked: str, probe: Probe, points: Points, point: Point, there: Sequence[Variable]) -> DError:
    """A name that nothing has at the probe."""
    name = asked.partition("->")[2]
    text = f"failed to resolve {asked} at {probe}: Unknown variable name"
    elsewhere = next((each for each in points.elsewhere(point) if each.name == name), None)
    if elsewhere is not None:
        where = _where(elsewhere, points, point)
        return DError("D_IDENT_UNDEF", text, hint=f"it is in another block of the function, {where}")
    from difflib import get_close_matches  # an import for a message

    close = get_close_matches(name, [each.name for each in there], cutoff=0.75)
    if close:
        return DError("D_IDENT_UNDEF", text, hint=f"did you mean {' or '.join(close)}?")
    command = f"sonde vars {points.path} {probe.function.partition('+')[0]}"
    return DError("D_IDENT_UNDEF", text, hint=f"{listed(there)}; `{command}` lists them with their types")


def listed(there: Sequence[Variable]) -> str:
    """A few of the names that there are."""
    if not there:
        return "nothing can be named there"
    more = ", ..." if len(there) > _FEW else ""
    return f"there {'are' if len(there) > 1 else 'is'} {', '.join(each.name for each in there[:_FEW])}{more}"


def not_there(asked: str, variable: Variable, probe: Probe, points: Points, point: Point) -> DError:
    """A variable that is optimised out at the probe."""
    text = f"failed to resolve {asked} at {probe}: it is optimised out there"
    return DError("D_IDENT_UNDEF", text, hint=f"it is available {_where(variable, points, point)}")


def _where(variable: Variable, points: Points, point: Point) -> str:
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
