"""The states of all paths at each instruction, merged: what can be said of a register or slot whichever way was taken.

Where paths meet, all are merged; behind that, numbers on which nothing depends are those of one of the paths, since
the others were not followed.
"""

from __future__ import annotations

from sonde.runtime.verifier.scalar import ScalarValue
from sonde.runtime.verifier.state import State
from sonde.runtime.verifier.values import Value, show
from sonde.typed import TypeAlias

_SHOWN = 3
"""Different pointers named at one place; more are only counted."""

StatePlace: TypeAlias = tuple[int, int]
"""Level of the frame, 0 the outermost, and register, or -8, -16 ... for a slot of its stack."""


class Merged:
    """Gathers states; `observe` is what `verify` takes."""

    def __init__(self) -> None:
        self._values: dict[int, dict[StatePlace, list[Value]]] = {}
        self._visits: dict[int, int] = {}

    def observe(self, at: int, state: State) -> None:
        """Add the state before instruction `at`."""
        known = self._values.get(at)
        self._visits[at] = self._visits.get(at, 0) + 1
        found = _values(state)
        if known is None:
            self._values[at] = {place: [value] for place, value in found.items()}
            return
        for place in list(known):
            if place in found:
                _add(known[place], found[place])
            else:
                del known[place]

    def visits(self, at: int) -> int:
        """How often instruction `at` was gone through."""
        return self._visits.get(at, 0)

    def texts(self, at: int) -> dict[str, str]:
        """What is known before instruction `at`, by the name of the register or slot; {} if no path reaches it."""
        places = self._values.get(at, {})
        innermost = max((level for level, _ in places), default=0)
        return {_name(place, innermost): _text(values) for place, values in sorted(places.items(), key=_order)}


def _values(state: State) -> dict[StatePlace, Value]:
    found: dict[StatePlace, Value] = {}
    for level, frame in enumerate(state.frames):
        for register, value in enumerate(frame.registers[:10]):
            if value is not None:
                found[level, register] = value
        for slot, held in frame.stack.items():
            if held.value is not None:
                found[level, -8 * (slot + 1)] = held.value
    return found


def _add(values: list[Value], value: Value) -> None:
    """One more value at a place: numbers are joined, pointers listed."""
    for n, other in enumerate(values):
        if other == value:
            return
        if type(other) is ScalarValue and type(value) is ScalarValue:
            values[n] = joined(other, value)
            return
    values.append(value)


def joined(a: ScalarValue, b: ScalarValue) -> ScalarValue:
    """What holds for a number that is one of two."""
    mask = a.mask | b.mask | a.value ^ b.value
    low, high = [min(a[n], b[n]) for n in range(0, 8, 2)], [max(a[n], b[n]) for n in range(1, 8, 2)]
    return ScalarValue(
        low[0], high[0], low[1], high[1], low[2], high[2], low[3], high[3], a.value & ~mask, mask
    )  # fmt: skip


def _order(entry: tuple[StatePlace, list[Value]]) -> tuple[int, bool, int]:
    (level, n), _ = entry
    return -level, n < 0, abs(n)


def _name(place: StatePlace, innermost: int) -> str:
    level, n = place
    prefix = "" if level == innermost else f"frame{level}."
    return f"{prefix}r{n}" if n >= 0 else f"{prefix}fp{n}"


def _text(values: list[Value]) -> str:
    shown = [show(value) for value in values[:_SHOWN]]
    if len(values) > _SHOWN:
        shown.append(f"{len(values) - _SHOWN} more")
    return " | ".join(shown)
