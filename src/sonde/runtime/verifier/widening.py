"""Loops that the states themselves do not end: what differs from one turn to the next is forgotten, so that after a
few turns nothing does (widen_imprecise_scalars() of kernel/bpf/verifier.c)."""

from __future__ import annotations

from sonde.runtime.verifier.scalar import UNKNOWN, ScalarValue
from sonde.runtime.verifier.stack import MISC, NULL, SPILL, StackSlot
from sonde.runtime.verifier.state import State
from sonde.runtime.verifier.values import Value


def widen(before: State, state: State) -> None:
    """Forget the numbers in `state` that are others than they were a turn before, at the same instruction."""
    for old, new in zip(before.frames, state.frames, strict=False):
        for n, value in enumerate(new.registers):
            if _changed(old.registers[n], value):
                new.registers[n] = UNKNOWN
        for slot, held in new.stack.items():
            was = old.stack.get(slot)
            if was is None or was == held:
                continue
            if was.kinds == held.kinds == SPILL * 8:
                if _changed(was.value, held.value):
                    new.stack[slot] = StackSlot(held.kinds, UNKNOWN)
            elif type(held.value) is ScalarValue or held.value is None:
                new.stack[slot] = StackSlot(held.kinds.replace(SPILL, MISC).replace(NULL, MISC))


def _changed(before: Value, after: Value) -> bool:
    return type(before) is ScalarValue and type(after) is ScalarValue and before[:10] != after[:10]
