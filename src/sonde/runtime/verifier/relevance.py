"""What matters of a state: which registers and stack slots are read later, and of which the exact number matters.

Two states at an instruction that differ only in what does not matter behave alike, so the second need not be explored.
Both questions are answered backwards: every instruction that a path runs through leaves an `Effect`, and when all
paths from a point on have ended, the effects are gone through from last to first (the kernel's liveness and precision
marks, kernel/bpf/liveness.c and mark_chain_precision() in kernel/bpf/verifier.c, come to the same).

A path that comes back to a state that is being explored matters as much as that state, which is not known before all
paths from it have ended. Until then more is said to matter than does, and behind it the least that holds is found
(propagate_backedges() there).

Registers and slots are the bits of a number: 11 registers, then 64 slots, of the innermost frame; above them those of
its caller, and so on.
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.runtime.verifier.scalar import ScalarValue
from sonde.runtime.verifier.stack import SLOTS, StackSlot
from sonde.runtime.verifier.state import READABLE, State
from sonde.runtime.verifier.values import PointerValue
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


Needs: TypeAlias = tuple[
    list[tuple[int, int, bool, ScalarValue | PointerValue]], list[tuple[int, int, bool, StackSlot]]
]
"""Registers and slots to compare: the frame, which one, whether the exact number matters, and what is there."""


class Checkpoint:
    """A state at an instruction where paths meet, and, once all paths from it have ended, what matters of it.

    `needs` are then the places to compare. `bounded`: the segment that begins here while `live` and `precise` are more
    than what matters, since some path from it came back to a state that is being explored.
    `is_turn`: the loop that goes round there, bounded by something else, has made a turn. `is_met`: a path came back.
    """

    __slots__ = (
        "bounded",
        "hits",
        "is_complete",
        "is_met",
        "is_turn",
        "live",
        "misses",
        "needs",
        "precise",
        "state",
        "turns",
    )

    def __init__(self, state: State, turns: int) -> None:
        self.state = state
        self.turns = turns
        self.live = self.precise = EVERYTHING
        self.is_turn = self.is_met = False
        self.is_complete = False
        self.bounded: PathSegment | None = None
        self.needs: Needs = ([], [])
        self.hits = self.misses = 0

    def complete(self, live: int, precise: int, bounded: PathSegment | None = None) -> None:
        """All paths from here have ended: of the state, these registers and slots matter."""
        self.live, self.precise, self.is_complete = live, precise, True
        self.bounded = bounded
        self.needs = needs(self.state, live, precise)


def needs(state: State, live: int, precise: int) -> Needs:
    """The places of a state that are in `live`, the innermost frame's first."""
    registers: list[tuple[int, int, bool, ScalarValue | PointerValue]] = []
    slots: list[tuple[int, int, bool, StackSlot]] = []
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


class PathSegment:
    """A stretch of a path without branches, in one frame; `parent` is the one before it.

    `turns` counts the times the path came to a place where something other than its state bounds a loop.
    `is_from_callback`: it begins where a callback has returned.
    `owed`: the segments on whose beginnings more depends than is known, with what turns their bits into those at the
    end of this one; what they are taken to need at most is in the `_most` fields, and the rest in those without.
    """

    __slots__ = (
        "_lift",
        "_live",
        "_live_most",
        "_precise",
        "_precise_most",
        "checkpoint",
        "effects",
        "is_from_callback",
        "owed",
        "parent",
        "pending",
        "turns",
    )

    def __init__(self, parent: PathSegment | None = None, lift: Lift = _same) -> None:
        self.parent = parent
        self.turns: int = parent.turns if parent is not None else 0
        self.checkpoint: Checkpoint | None = None
        self.effects: list[Effect] = []
        self.pending = 1
        self.is_from_callback = False
        self.owed: list[tuple[Lift, PathSegment]] = []
        self._lift = lift
        self._live = self._precise = self._live_most = self._precise_most = 0

    def end(self, live: int, precise: int, bounded: PathSegment | None = None, lift: Lift = _same) -> None:
        """One way on from this segment has been explored: this is what matters at its end, or, of the beginning of a
        segment that is `bounded`, at most."""
        segment = self
        while True:
            if bounded is None:
                segment._live |= live
                segment._precise |= precise
            else:
                segment._live_most |= live
                segment._precise_most |= precise
                segment.owed.append((lift, bounded))
            segment.pending -= 1
            if segment.pending:
                return
            live, precise, bounded = segment._ended()
            parent = segment.parent
            if parent is None:
                return
            lift = segment._lift
            live, precise = lift(live), lift(precise)
            segment = parent

    def _ended(self) -> tuple[int, int, PathSegment | None]:
        """All ways on have been explored: what matters at the beginning, and this segment if that is a bound."""
        checkpoint = self.checkpoint
        if self.owed:
            if checkpoint is not None and checkpoint.is_met and (owing := _owing(self)) is not None:
                return *_settle(owing)[self], None
            live, precise = _before(
                self.effects, self._live | self._live_most, self._precise | self._precise_most
            )  # fmt: skip
            if checkpoint is not None:
                checkpoint.complete(live, precise, self)
            return live, precise, self
        live, precise = _before(self.effects, self._live, self._precise)
        self.settled(live, precise)
        return live, precise, None

    def needing(self, known: dict[PathSegment, tuple[int, int]]) -> tuple[int, int]:
        """What matters at the beginning, if at those of the segments that are owed it is as given."""
        live, precise = self._live, self._precise
        for lift, other in self.owed:
            others = known[other]
            live |= lift(others[0])
            precise |= lift(others[1])
        return _before(self.effects, live, precise)

    def settled(self, live: int, precise: int) -> None:
        """This is all that matters at the beginning."""
        if self.checkpoint is not None:
            self.checkpoint.complete(live, precise)
        self.effects = []
        self.owed = []


def _owing(turn: PathSegment) -> list[PathSegment] | None:
    """The segments on which the turn depends and which are bounded, those that others depend on first; None if one of
    them is a turn that is being explored itself."""
    found: dict[PathSegment, None] = {}
    open_ = [(turn, iter(turn.owed))]
    seen = {turn}
    while open_:
        segment, rest = open_[-1]
        for _, other in rest:
            if other.pending:
                return None
            if other not in seen:
                seen.add(other)
                open_.append((other, iter(other.owed)))
                break
        else:
            found[segment] = None
            open_.pop()
    return list(found)


def _settle(owing: list[PathSegment]) -> dict[PathSegment, tuple[int, int]]:
    """The least that matters at the beginning of each, so that all of them agree."""
    known = dict.fromkeys(owing, (0, 0))
    changed = True
    while changed:
        changed = False
        for segment in owing:
            needed = segment.needing(known)
            if needed != known[segment]:
                known[segment], changed = needed, True
    for segment, (live, precise) in known.items():
        segment.settled(live, precise)
    return known


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
