"""What is known before an instruction: of registers, and of words on the stacks of the functions that are active."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sonde.bpf.work.numbers import (
    MAY_BE_STACK,
    MAYBE,
    NUMBER,
    STACK,
    TURNS,
    UNKNOWN_PLACE,
    Known,
    alike,
    as_base,
    between,
    join,
    unknown,
)

_Key = tuple[int, int]
"""A frame, from 0 for the first function, and a place in it, below 0."""

_DEEPEST = 512
"""Bytes of a frame (MAX_BPF_STACK)."""


class WorkState:
    """Registers, and of the words on stacks those of which something is known, with their sizes."""

    __slots__ = ("registers", "words")

    def __init__(self, registers: list[Known], words: dict[_Key, tuple[int, Known]]) -> None:
        self.registers = registers
        self.words = words

    def copy(self) -> WorkState:
        return WorkState(self.registers[:], self.words.copy())

    def narrow(self, register: int, low: int, high: int) -> None:
        """The number in the register is within this range, and with it all that are equal."""
        before = self.registers[register]
        if not before.is_number or (before.low, before.high) == (low, high):
            return
        after = before._replace(low=low, high=high)
        self.registers[register] = after
        if not before.id:
            return
        for number, each in enumerate(self.registers):
            if each == before:
                self.registers[number] = after
        for key, (size, each) in self.words.items():
            if each == before:
                self.words[key] = size, after

    def load(self, base: Known, offset: int, size: int) -> Known:
        """What a load of so many bytes gives."""
        if base.kind == STACK and base.high != UNKNOWN_PLACE:
            found = self.words.get((base.low, base.high + offset))
            if found is not None and found[1].kind != TURNS:
                if found[0] == size:
                    return found[1]
                if found[0] > size and found[1].kind == NUMBER and found[1].high < 1 << 8 * size:
                    return found[1]  # the low bytes come first
        if size < 8:
            return unknown((1 << 8 * size) - 1)
        return MAY_BE_STACK if base.kind in (STACK, MAYBE) else unknown()

    def store(self, base: Known, offset: int, size: int, value: Known | None) -> None:
        """What a store changes; None: it stores something unknown."""
        if base.kind not in (STACK, MAYBE):
            return
        if base.kind == MAYBE or base.high == UNKNOWN_PLACE:
            self.forget(base)
            return
        key = base.low, base.high + offset
        self.forget(base._replace(high=key[1]), size)
        if value is None:
            return
        if value.kind == NUMBER and size < 8 and value.high >= 1 << 8 * size:
            value = unknown((1 << 8 * size) - 1)
        if value.kind == NUMBER or size == 8:
            self.words[key] = size, value

    def forget(self, base: Known, size: int = _DEEPEST) -> None:
        """So many bytes from an address on may have been changed; all of the frame, or of all frames, where it is not
        known what it leads to."""
        if base.kind == STACK:
            first, last = (-_DEEPEST, 0) if base.high == UNKNOWN_PLACE or size >= _DEEPEST else (
                base.high, base.high + size
            )  # fmt: skip
            gone = [
                key for key, (width, _) in self.words.items()
                if key[0] == base.low and key[1] < last and key[1] + width > first
            ]  # fmt: skip
            for key in gone:
                del self.words[key]
        elif base.kind == MAYBE:
            self.words.clear()

    def leave(self, depth: int) -> None:
        """The frames from that one on are gone."""
        for key in [key for key in self.words if key[0] >= depth]:
            del self.words[key]


def joined(a: WorkState, b: WorkState) -> WorkState:
    """What is known where both lead."""
    meeting = _Meeting(join)
    return WorkState(list(map(meeting.of, a.registers, b.registers)), dict(_common(a, b, meeting)))


def widened(before: WorkState, after: WorkState, stops: Sequence[int] = ()) -> tuple[WorkState, bool]:
    """What is known before any turn of a loop that led from one state to the other, and whether that is less than
    before. Ranges end at one of `stops` where they have grown. How often iterators still give an element is as it was.
    """
    meeting = _Meeting(lambda a, b: _wide(a, b, stops))
    registers = list(map(meeting.of, before.registers, after.registers))
    words = dict(_common(before, after, meeting))
    turns = {key: each for key, each in before.words.items() if each[1].kind == TURNS}
    state = WorkState(registers, {**words, **turns})
    is_less = len(state.words) < len(before.words) or not all(map(alike, before.registers, registers))
    return state, is_less or any(not alike(before.words[key][1], each) for key, (_, each) in state.words.items())


def begun(state: WorkState) -> WorkState:
    """The same, with each number the base of what a turn of a loop makes of it."""
    meeting = _Meeting(lambda a, _: as_base(a) if a.kind == NUMBER and a.low < a.high else a, is_always=True)
    registers = [meeting.of(each, each) for each in state.registers]
    return WorkState(registers, {key: (size, meeting.of(each, each)) for key, (size, each) in state.words.items()})


def counted_turns(before: WorkState, after: WorkState) -> int | None:
    """How often a loop goes round at most, by a number that grows or falls in each turn and is bounded where the turn
    ends; None if there is no such number. `before` is `begun`."""
    pairs = [*zip(before.registers, after.registers, strict=True)]
    pairs += [(each, after.words[key][1]) for key, (_, each) in before.words.items() if key in after.words]
    found = []
    for a, b in pairs:
        if not a.base or a.base != b.base or b.is_upper:
            continue
        if b.least > 0:
            found.append((b.high - a.low) // b.least + 1)
        elif b.most < 0:
            found.append((a.high - b.low) // -b.most + 1)
    return min(found, default=None)


class _Meeting:
    """Pairs of what is known on two ways, and what is made of them: what is equal on both is equal behind them."""

    def __init__(self, make: Callable[[Known, Known], Known], is_always: bool = False) -> None:
        self._make = make
        self._is_always = is_always
        self._made: dict[tuple[Known, Known], Known] = {}

    def of(self, a: Known, b: Known) -> Known:
        found = self._made.get((a, b))
        if found is None:
            found = self._made[a, b] = a if a == b and not self._is_always else self._make(a, b)
        return found


def _common(a: WorkState, b: WorkState, meeting: _Meeting) -> Iterator[tuple[_Key, tuple[int, Known]]]:
    for key, (size, value) in a.words.items():
        other = b.words.get(key)
        if other is not None and other[0] == size and (value.kind == TURNS) == (other[1].kind == TURNS):
            yield key, (size, meeting.of(value, other[1]))


def _wide(a: Known, b: Known, stops: Sequence[int]) -> Known:
    """What holds of both, of few such, so that widening ends."""
    both = join(a, b)
    if both.kind != NUMBER or alike(a, both):
        return both
    low, high = both.low, both.high
    if low < a.low:
        low = max((each for each in stops if each <= low), default=0)
    if high > a.high:
        high = min(each for each in (*stops, *_ENDS) if each >= high)
    return between(low, high)


_ENDS = tuple((1 << bits) - 1 for bits in (8, 16, 32, 64))
"""Numbers of 8, 16 and 32 bits stay such."""
