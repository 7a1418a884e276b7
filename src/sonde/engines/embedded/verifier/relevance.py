"""What matters of a state: which registers and stack slots are read later, and of which the exact number matters.

Two states at an instruction that differ only in what does not matter behave alike, so the second need not be explored.
Both questions are answered backwards: every instruction that a path runs through leaves an `Effect`, and when all
paths from a point on have ended, the effects are gone through from last to first (the kernel's liveness and precision
marks, kernel/bpf/liveness.c and mark_chain_precision() in kernel/bpf/verifier.c, come to the same).

Registers and slots are the bits of a number: 11 registers, then 64 slots, of the innermost frame; above them those of
its caller, and so on.
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.engines.embedded.verifier.scalar import Scalar
from sonde.engines.embedded.verifier.stack import SLOTS, Slot
from sonde.engines.embedded.verifier.state import READABLE, State
from sonde.engines.embedded.verifier.values import Pointer
from sonde.typed import NamedTuple, TypeAlias

FRAME_BITS = READABLE + SLOTS
FRAME_MASK = (1 << FRAME_BITS) - 1
EVERYTHING = -1


class Effect(NamedTuple):
    """What an instruction did with registers and slots, each field a set of bits.

    What it `kills` it overwrites altogether; `uses` it reads. If the exact number in one of `triggers` matters
    afterwards, so does that in each of `sources` before. `demands`: the numbers that mattered to the instruction
    itself, because an address, a size or the way on was computed with them.
    """

    kills: int = 0
    triggers: int = 0
    sources: int = 0
    uses: int = 0
    demands: int = 0


def bit(register: int) -> int:
    """The bit of a register of the innermost frame."""
    return 1 << register


def slot_bits(level: int, first: int, last: int) -> int:
    """Slots `first` to `last` of the frame `level` calls up."""
    return ((1 << last - first + 1) - 1) << first + READABLE + level * FRAME_BITS


Needs: TypeAlias = tuple[list[tuple[int, int, bool, Scalar | Pointer]], list[tuple[int, int, bool, Slot]]]
"""Registers and slots to compare: the frame, which one, whether the exact number matters, and what is there."""


class Checkpoint:
    """A state at an instruction where paths meet, and, once all paths from it have ended, what matters of it.

    `needs` are then the places to compare.
    `is_turn`: the loop that goes round there, bounded by something else, has made a turn.
    """

    __slots__ = ("hits", "is_complete", "is_turn", "live", "misses", "needs", "precise", "state", "turns")

    def __init__(self, state: State, turns: int) -> None:
        self.state = state
        self.turns = turns
        self.live = self.precise = EVERYTHING
        self.is_turn = False
        self.is_complete = False
        self.needs: Needs = ([], [])
        self.hits = self.misses = 0

    def complete(self, live: int, precise: int) -> None:
        """All paths from here have ended: of the state, these registers and slots matter."""
        self.live, self.precise, self.is_complete = live, precise, True
        self.needs = needs(self.state, live, precise)


def needs(state: State, live: int, precise: int) -> Needs:
    """The places of a state that are in `live`, the innermost frame's first."""
    registers: list[tuple[int, int, bool, Scalar | Pointer]] = []
    slots: list[tuple[int, int, bool, Slot]] = []
    index = len(state.frames)
    for frame in reversed(state.frames):
        index -= 1
        here, exact = live & FRAME_MASK, precise & FRAME_MASK
        for n, value in enumerate(frame.registers[:10]):
            if value is not None and here >> n & 1:
                registers.append((index, n, bool(exact >> n & 1), value))
        for slot, held in frame.stack.items():
            if here >> slot + READABLE & 1:
                slots.append((index, slot, bool(exact >> slot + READABLE & 1), held))
        live, precise = live >> FRAME_BITS, precise >> FRAME_BITS
    return registers, slots


Lift: TypeAlias = Callable[[int], int]
"""Turns bits counted from a segment's innermost frame into bits counted from that of the segment before it."""


def _same(bits: int) -> int:
    return bits


class Segment:
    """A stretch of a path without branches, in one frame; `parent` is the one before it.

    `turns` counts the times the path came to a place where something other than its state bounds a loop.
    `is_from_callback`: it begins where a callback has returned.
    """

    __slots__ = (
        "_lift",
        "_live",
        "_precise",
        "checkpoint",
        "effects",
        "is_from_callback",
        "parent",
        "pending",
        "turns",
    )

    def __init__(self, parent: Segment | None = None, lift: Lift = _same) -> None:
        self.parent = parent
        self.turns: int = parent.turns if parent is not None else 0
        self.checkpoint: Checkpoint | None = None
        self.effects: list[Effect] = []
        self.pending = 1
        self.is_from_callback = False
        self._lift = lift
        self._live = self._precise = 0

    def end(self, live: int, precise: int) -> None:
        """One way on from this segment has been explored: this is what matters at its end."""
        segment = self
        while True:
            segment._live |= live
            segment._precise |= precise
            segment.pending -= 1
            if segment.pending:
                return
            live, precise = _before(segment.effects, segment._live, segment._precise)
            if segment.checkpoint is not None:
                segment.checkpoint.complete(live, precise)
            if segment.parent is None:
                return
            live, precise = segment._lift(live), segment._lift(precise)
            segment.effects = []
            segment = segment.parent


def _before(effects: list[Effect], live: int, precise: int) -> tuple[int, int]:
    """What matters before these effects, given what matters after them."""
    for kills, triggers, sources, uses, demands in reversed(effects):
        mattered = precise & triggers
        if kills:
            live &= ~kills
            precise &= ~kills
        if mattered:
            precise |= sources
        live |= uses
        precise |= demands
    return live, precise


_ARGUMENTS = 0b111110
_RESULT = 1


def into_call(bits: int) -> int:
    """From a called function's first instruction to the call: r1 to r5 are the caller's own."""
    return bits >> FRAME_BITS | bits & _ARGUMENTS


def into_callback(inner: int, outer: int) -> Lift:
    """The same for a callback, whose register `inner` is what the caller has in `outer`."""

    def lift(bits: int) -> int:
        return bits >> FRAME_BITS | (bits >> inner & 1) << outer

    return lift


def out_of_call(bits: int) -> int:
    """From the instruction behind a call to the called function's exit: r0 is its result, r1 to r5 are lost."""
    return (bits & ~(_ARGUMENTS | _RESULT)) << FRAME_BITS | bits & _RESULT


def out_of_callback(bits: int) -> int:
    """From the call of the helper that called back to the callback's exit, whose result has been looked at."""
    return bits << FRAME_BITS | _RESULT
