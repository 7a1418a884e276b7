"""Where paths meet: the states that were there before, and what becomes of another one (is_state_visited())."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

from sonde.runtime.verifier.pruning import contains, covers, equals
from sonde.runtime.verifier.relevance import Checkpoint, PathSegment
from sonde.runtime.verifier.state import State
from sonde.runtime.verifier.widening import widen

_MANY, _SPARSE = 256, 32
"""Of states under way in a loop, from so many on only every so many-th is kept to be compared with."""

_FEW = 16
"""States that never covered another are forgotten where there are more."""


_MOST_TURNS = 256
"""Of a loop that something else bounds, in which not only numbers change."""


class EndlessError(Exception):
    """Nothing shows that a loop ends, or that it does the same in every turn; the text says why."""


class Meeting:
    """One instruction where paths meet; `is_turn` if a loop goes round there that its states do not bound: at every
    visit, or, where a helper calls back, at those that come from the callback.

    The checkpoints that are not complete are all on the path that is being followed. In a loop there may be a great
    many, so only one of them, the anchor, is compared with: a later one takes its place after 1, 2, 4 ... comparisons,
    which finds every repetition (Brent's algorithm).
    """

    __slots__ = ("_anchor", "_compared", "_complete", "_live", "_patience", "_under_way", "calls_back", "is_turn")

    def __init__(self, is_turn: bool, calls_back: bool, live: Callable[[State], int]) -> None:
        """`live`: what may matter of a state there at all, as bits in the order of `relevance`."""
        self.is_turn = is_turn
        self.calls_back = calls_back
        self._live = live
        self._complete: list[Checkpoint] = []
        self._under_way: list[Checkpoint] = []
        self._anchor: Checkpoint | None = None
        self._compared = 0
        self._patience = 1

    def meet(self, state: State, segment: PathSegment) -> PathSegment | None:
        """The segment to go on with, None if the state is covered and the path has ended. Raises EndlessError.

        At a turn the state may be widened.
        """
        under_way = self._under_way
        while under_way and under_way[-1].is_complete:
            self._complete.append(under_way.pop())
        for checkpoint in reversed(self._complete):
            if covers(checkpoint, state):
                checkpoint.hits += 1
                segment.end(checkpoint.live, checkpoint.precise, checkpoint.bounded)
                return None
            checkpoint.misses += 1
        if len(self._complete) > _FEW:
            self._complete = [each for each in self._complete if each.misses <= 3 * each.hits + 3]
        if self.is_turn and (not self.calls_back or segment.is_from_callback):
            return self._turn(state, segment)
        self._look_back(state, segment)
        if len(under_way) >= _MANY and self._compared % _SPARSE:
            return segment
        made = self._checkpoint(state, segment)
        if self._anchor is None:
            self._anchor = made.checkpoint
        return made

    def _turn(self, state: State, segment: PathSegment) -> PathSegment | None:
        live = self._live(state)
        for checkpoint in reversed(self._under_way):
            if contains(checkpoint, state, live):
                checkpoint.is_met = True
                segment.end(live, live, checkpoint.bounded)
                return None
        if self._rounds() >= _MOST_TURNS:
            raise EndlessError(
                f"the loop is another one in each of its first {_MOST_TURNS} turns: pointers change in it"
            )
        if self._under_way:
            widen(self._under_way[-1].state, state)
        made = self._checkpoint(state, segment)
        made.turns += 1
        self._under_way[-1].is_turn = True
        return made

    def _rounds(self) -> int:
        """How many turns the loop has made on this path since it was begun."""
        return sum(1 for _ in takewhile(lambda checkpoint: checkpoint.is_turn, reversed(self._under_way)))

    def _look_back(self, state: State, segment: PathSegment) -> None:
        """Notice that the path was here before with this state, and nothing else bounds the loop."""
        anchor = self._anchor
        if anchor is not None and anchor.is_complete:
            anchor = self._anchor = None
            self._compared, self._patience = 0, 1
        if anchor is None:
            return
        if segment.turns == anchor.turns and equals(anchor, state):
            raise EndlessError("the loop comes back here with nothing changed: it never ends")
        self._compared += 1
        if self._compared >= self._patience:
            self._anchor = None
            self._compared, self._patience = 0, 2 * self._patience

    def _checkpoint(self, state: State, segment: PathSegment) -> PathSegment:
        made = PathSegment(segment)
        made.checkpoint = Checkpoint(state.copy(), made.turns)
        made.checkpoint.bounded = made
        self._under_way.append(made.checkpoint)
        return made
