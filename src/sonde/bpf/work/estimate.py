"""The most steps that a firing takes, by following a program on what is known of its numbers.

Where ways meet, what is known and what they cost are joined, so there is one way through each block, and the longest
counts. Loops are followed turn by turn while what is known says that they go on and there is patience; then what a turn
changes is forgotten until nothing more changes, and the turns are those of the iterator that the loop needs, or as many
as a verifier would have followed. Functions that helpers call back are followed once and count as often as they may be
called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.bpf.work.branching import ranges
from sonde.bpf.work.costs import MOST_PLAIN, MOST_TASKS, MOST_TURNS, NONE, Cost, Factor, larger
from sonde.bpf.work.graph import END, WorkFunction, WorkLoop, WorkUnit, functions, is_jump, second_slots, target_of
from sonde.bpf.work.numbers import MAY_BE_STACK, STACK, TURNS, Known, unknown
from sonde.bpf.work.states import WorkState, begun, counted_turns, joined, widened
from sonde.bpf.work.steps import IteratorEvent, MeteredFunction, Steps, WorkMap
from sonde.typed import NamedTuple, TypeAlias

MOST_FRAMES = 8
"""Functions active at a time (MAX_CALL_FRAMES)."""

_PATIENCE = 20_000
"""Instructions followed before loops are no longer gone through turn by turn, and as many again before they are not
looked into."""

_MOST_FOLLOWED = 40
"""Turns of a loop that are followed."""

_ROUNDS = 24
"""After so many a loop's state has no more to be forgotten."""

_STOPPING = 8
"""So many rounds ranges end at numbers that the loop compares with."""

_Reached: TypeAlias = "tuple[WorkState, Cost]"
_Ways: TypeAlias = "dict[int, _Reached]"
"""By the blocks that they lead to."""


class Estimate(NamedTuple):
    """`steps` of a firing at most, without those of programs that it calls by tail call; `factors` are the turns of the
    loop that takes the most of them, and those of the loop in it that does, and so on. `arrays` are the maps of
    programs that it calls, "" for one that is not known; `calls_within`: from a function of its own."""

    steps: int
    factors: tuple[Factor, ...]
    arrays: frozenset[str]
    calls_within: bool
    metered: Mapping[int, MeteredFunction] = {}


def estimate(
    code: Sequence[Instruction], maps: Mapping[str, WorkMap], references: Mapping[int, str],
    kernel_function: Callable[[int], str], apart: Set[int] = frozenset(), stamped: Set[int] = frozenset(),
    is_metered: bool = False,
) -> Estimate:  # fmt: skip
    """Of a program. `references` are the maps that instructions refer to; `kernel_function` tells the name of a
    function of the kernel by its BTF type; `apart` are the functions that the verifier looks at by themselves, so that
    what it follows of each is no part of the others; `stamped` are the instructions whose constant is another one when
    it is loaded. `is_metered`: the turns of loops by helpers are metered when it runs, and are no part of the steps."""
    return _Following(code, maps, references, kernel_function, apart, stamped, is_metered).estimate()


class _Following(Steps):
    def __init__(
        self, code: Sequence[Instruction], maps: Mapping[str, WorkMap], references: Mapping[int, str],
        kernel_function: Callable[[int], str], apart: Set[int], stamped: Set[int], is_metered: bool,
    ) -> None:  # fmt: skip
        super().__init__(code, maps, references, kernel_function, stamped, is_metered)
        self._functions = functions(code)
        self._seconds = second_slots(code)
        self._apart = apart
        self._left = _PATIENCE
        self._alone: dict[tuple[int, int], Cost] = {}

    def estimate(self) -> Estimate:
        found = self.alone(0, unknown().high)
        later = [self.alone(function, unknown().high) for function in sorted(self.later)]
        most = max([found, *later], key=lambda cost: cost.steps)
        return Estimate(most.steps, most.factors, frozenset(self.arrays), self.calls_within, self.metered)

    def alone(self, function: int, most: int) -> Cost:
        """Of a function that others than the program call, with a first argument up to `most`; what else it gets is not
        known."""
        key = function, most
        found = self._alone.get(key)
        if found is None:
            if function in self.active or function not in self._functions or len(self.active) >= MOST_FRAMES:
                return NONE  # no verifier takes that
            arguments = [unknown() for _ in range(11)]
            arguments[1] = unknown(most)
            before = len(self.events)
            _, found = self._enter(function, WorkState(arguments, {}), 0, NONE)
            # Frames have other numbers there.
            del self.events[before:]
            found = self._alone[key] = found.settled()
        return found

    def _enter(self, function: int, state: WorkState, depth: int, cost: Cost) -> _Reached:
        """Carry out a function in frame `depth`; what is known at its end, and the cost."""
        of = self._functions[function]
        for register in (6, 7, 8, 9):
            state.registers[register] = unknown()
        state.registers[10] = Known(STACK, depth, 0)
        self.active.append(function)
        try:
            ends = self._walk(of, of.units, {of.begin: (state, cost)}, depth)
        finally:
            self.active.pop()
        ended, cost = ends.get(END, (state, cost))
        ended.leave(depth)
        return ended, cost

    # Units, in order

    def _walk(self, of: WorkFunction, units: Sequence[WorkUnit], pending: _Ways, depth: int) -> _Ways:
        """Where the ways through these units lead."""
        for unit in units:
            place = unit.header if isinstance(unit, WorkLoop) else unit
            if isinstance(unit, WorkLoop) and place == END:
                entries = [pending.pop(block) for block in sorted(unit.blocks & pending.keys())]
                if entries:
                    _merge(pending, self._opaque(of, unit, [cost for _, cost in entries], depth))
                continue
            entry = pending.pop(place, None)
            if entry is None:
                continue
            if isinstance(unit, WorkLoop):
                _merge(pending, self._loop(of, unit, *entry, depth))
            else:
                _merge(pending, self._block(of, unit, *entry, depth))
        return pending

    def _block(self, of: WorkFunction, begin: int, state: WorkState, cost: Cost, depth: int) -> _Ways:
        last = of.blocks[begin]
        passed = 0
        for at in range(begin, last + 1):
            if at in self._seconds:
                continue
            passed += 1
            if self.code[at].opcode == i.JMP | i.CALL:
                cost = self._instruction(at, state, _sum(cost, Cost(passed, 0)), depth, begin)
                passed = 0
            else:
                self.step(at, self.code[at], state)
        self._left -= last + 1 - begin
        cost = _sum(cost, Cost(passed, 0))
        x, following = self.code[last], of.following[begin]
        if len(following) < 2 or last in self._seconds:
            return {following[0]: (state, cost)}
        if x.opcode == i.JMP | i.JCOND:
            # It is counted down.
            cost = cost.settled()
            return {way: (state.copy(), cost) for way in following}
        return self._branch(x, following, state, cost)

    def _branch(self, x: Instruction, following: Sequence[int], state: WorkState, cost: Cost) -> _Ways:
        found: _Ways = {}
        a = state.registers[x.dst]
        b = state.registers[x.src] if x.opcode & i.X else self.number(x)
        for way, is_taken in zip(following, (True, False), strict=True):
            told = ranges(x, a, b, is_taken)
            if told is None:
                continue
            after = state.copy()
            after.narrow(x.dst, *told[0])
            if x.opcode & i.X:
                after.narrow(x.src, *told[1])
            _merge(found, {way: (after, cost)})
        return found

    def _instruction(self, at: int, state: WorkState, cost: Cost, depth: int, block: int) -> Cost:
        x = self.code[at]
        if x.opcode != i.JMP | i.CALL or x.src != i.CALL_LOCAL:
            return self.call(at, x, state, cost, block)
        function = target_of(at, x._replace(opcode=i.JMP32 | i.JA))
        if function not in self._functions or depth + 1 >= MOST_FRAMES or function in self.active:
            cost = self._after(state, None, cost)
        elif function in self._apart or self._left < -_PATIENCE:
            called = self.alone(function, unknown().high)
            cost = self._after(state, None, cost.with_loop(called.steps, called.factors))
        else:
            saved = state.registers[6:]
            ended, cost = self._enter(function, state.copy(), depth + 1, cost)
            state.words = ended.words
            state.registers[6:] = saved
            cost = self._after(state, ended.registers[0], cost)
        return cost

    def _after(self, state: WorkState, result: Known | None, cost: Cost) -> Cost:
        """Control comes back from a function."""
        if result is None:
            for each in state.registers[1:6]:
                state.forget(each)
        state.registers[:6] = [result or unknown(), *(unknown() for _ in range(5))]
        return cost

    # Loops

    def _loop(self, of: WorkFunction, loop: WorkLoop, state: WorkState, cost: Cost, depth: int) -> _Ways:
        if self._left < -_PATIENCE:
            return self._opaque(of, loop, [cost], depth)
        before = cost
        exits: _Ways = {}
        cost = Cost(cost.plain, cost.other)
        turns, until = 0, self._left * 3 // 4
        while self._left > until and turns < _MOST_FOLLOWED:
            given = state.copy()
            ways = self._walk(of, loop.units, {loop.header: (given, cost)}, depth)
            back = ways.pop(loop.header, None)
            _merge(exits, ways)
            if back is None:
                return _within(exits, before, Factor(turns + 1, loop.header))
            turns += 1
            is_still = not widened(state, back[0])[1]
            state, cost = back
            if is_still:
                break
        _merge(exits, self._widened(of, loop, state, cost, depth, turns))
        return _within(exits, before, None)

    def _widened(
        self, of: WorkFunction, loop: WorkLoop, state: WorkState, cost: Cost, depth: int, before: int
    ) -> _Ways:
        """The ways out of a loop from some turn on, of which it is not known how many follow."""
        stops = self._stops(of, loop)
        for round_ in range(_ROUNDS):
            seen = len(self.events)
            state = begun(state)
            ways = self._walk(of, loop.units, {loop.header: (state.copy(), NONE)}, depth)
            back = ways.pop(loop.header, None)
            if back is None:
                return {way: (after, _sum(cost, spent)) for way, (after, spent) in ways.items()}
            wider, is_less = widened(state, back[0], stops if round_ < _STOPPING else ())
            if not is_less:
                break
            state = wider
        else:
            return self._opaque(of, loop, [cost], depth)
        turns, is_counted = self._turns(of, loop, state, self.events[seen:])
        turns = min(turns, counted_turns(state, back[0]) or turns)
        spent = back[1].settled() if is_counted else back[1]
        factor = Factor(turns + before, loop.header)
        total = Cost(cost.plain + turns * spent.plain, cost.other).with_loop(
            turns * spent.other, (factor, *spent.factors)
        )
        if not ways:
            return {END: (_nothing_known(depth), total)}  # as far as is known it has no end but that of all patience
        return {way: (after, _sum(total, last)) for way, (after, last) in ways.items()}

    def _turns(
        self, of: WorkFunction, loop: WorkLoop, state: WorkState, events: Sequence[IteratorEvent]
    ) -> tuple[int, bool]:
        """Of a loop, and whether something counts them, so that the verifier does not."""
        made = {event.place for event in events if event.is_new}
        counting: set[int] = set()
        total, places = 0, set()
        is_any = False
        for event in events:
            if event.is_new or event.block not in loop.blocks:
                continue
            is_any = True
            word = state.words.get(event.place) if event.place is not None else None
            if event.place not in made and word is not None and word[1].kind == TURNS:
                counting.add(event.block)
                if event.place not in places:
                    places.add(event.place)
                    total += word[1].high
        jumps = {each for each in loop.blocks if self.code[of.blocks[each]].opcode == i.JMP | i.JCOND}
        if jumps:
            total += MOST_TURNS
        if (counting or jumps) and not _goes_round(of, loop, counting | jumps):
            return total + 1, True
        plain = MOST_PLAIN // loop.shortest
        if counting or jumps:
            return (total + 1) * plain, True
        return (MOST_TASKS, True) if is_any and not _goes_round(of, loop, _nexts(events)) else (plain, False)

    def _stops(self, of: WorkFunction, loop: WorkLoop) -> list[int]:
        """The constants that a loop compares with, and their neighbours."""
        jumps = [self.code[of.blocks[block]] for block in loop.blocks]
        numbers = {self.number(x).low for x in jumps if is_jump(x) and not x.opcode & i.X}
        return sorted({each + near for each in numbers for near in (-1, 0, 1) if 0 <= each + near < 1 << 64})

    def _opaque(self, of: WorkFunction, loop: WorkLoop, entries: Sequence[Cost], depth: int) -> _Ways:
        """A loop that is not looked into: each of its blocks as often as loops can turn."""
        total = NONE
        is_counted = False
        for begin in sorted(loop.blocks):
            seen = len(self.events)
            state = _nothing_known(depth)
            ways = self._block(of, begin, state, NONE, depth)
            is_counted |= len(self.events) > seen or self.code[of.blocks[begin]].opcode == i.JMP | i.JCOND
            spent = NONE
            for _, cost in ways.values():
                spent = larger(spent, cost)
            total = total.with_loop(spent.steps, spent.factors)
        turns = MOST_TURNS if is_counted else MOST_PLAIN
        most = NONE
        for cost in entries:
            most = larger(most, cost)
        most = most.with_loop(turns * total.other, (Factor(turns, min(loop.blocks)), *total.factors))
        leads = {way for block in loop.blocks for way in of.following[block] if way not in loop.blocks}
        return {way: (_nothing_known(depth), most) for way in leads}


def _nothing_known(depth: int) -> WorkState:
    """In the function in that frame."""
    return WorkState([*[MAY_BE_STACK] * 10, Known(STACK, depth, 0)], {})


def _merge(into: _Ways, ways: _Ways) -> None:
    for way, (state, cost) in ways.items():
        known = into.get(way)
        into[way] = (state, cost) if known is None else (joined(known[0], state), larger(known[1], cost))


def _nexts(events: Sequence[IteratorEvent]) -> set[int]:
    return {event.block for event in events if not event.is_new}


def _sum(before: Cost, spent: Cost) -> Cost:
    """Both, one behind the other."""
    plain = before.plain + spent.plain
    more = before if before.largest >= spent.largest else spent
    return Cost(plain, before.other + spent.other, more.largest, more.factors)


def _within(exits: _Ways, before: Cost, factor: Factor | None) -> _Ways:
    """The ways out of a loop, with what was before it; `factor`, if it was gone through turn by turn, are its turns."""
    found: _Ways = {}
    for way, (state, cost) in exits.items():
        steps, factors = cost.largest, cost.factors
        if factor is not None and cost.other > before.other:
            steps, factors = cost.other - before.other, (factor, *factors)
        if steps <= before.largest:
            steps, factors = before.largest, before.factors
        found[way] = state, Cost(cost.plain, cost.other, steps, factors)
    return found


def _goes_round(of: WorkFunction, loop: WorkLoop, without: Set[int]) -> bool:
    """Whether a loop can go round without any of these blocks."""
    if loop.header in without:
        return False
    found, waiting = {loop.header}, [loop.header]
    while waiting:
        for way in of.following[waiting.pop()]:
            if way == loop.header:
                return True
            if way in loop.blocks and way not in without and way not in found:
                found.add(way)
                waiting.append(way)
    return False
