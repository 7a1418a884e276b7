"""What is known of a stack's bytes after a write of which only the bounds are known."""

from __future__ import annotations

import pytest

from sonde.runtime.verifier import stack
from sonde.runtime.verifier.stack import MISC, NOTHING, NULL, SPILL, StackSlot


def disturbed(kinds: bytes, low: int, high: int) -> bytes:
    held = {0: StackSlot(kinds, stack.ZERO if SPILL in kinds else None)}
    stack.disturb(held, low, high)
    return held[0].kinds


@pytest.mark.parametrize(("low", "high"), [(low, high) for low in range(-8, 0) for high in range(low + 1, 1)])
def test_zeros_outside_of_the_bounds_stay_zeros(low, high):
    wanted = NULL * (low + 8) + MISC * (high - low) + NULL * -high
    assert disturbed(NULL * 8, low, high) == wanted
    assert disturbed(SPILL * 8, low, high) == wanted


def test_what_was_never_written_may_still_be_unwritten():
    assert disturbed(NOTHING * 4 + NULL * 4, -8, -2) == NOTHING * 4 + MISC * 2 + NULL * 2


def test_slots_that_hold_nothing_are_not_made():
    held = {}
    stack.disturb(held, -16, 0)
    assert held == {}
