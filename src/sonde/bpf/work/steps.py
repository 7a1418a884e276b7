"""Single instructions on what is known of numbers, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set

from sonde.bpf import helpers
from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.bpf.signatures import SIGNATURES, Signature
from sonde.bpf.work.costs import (
    METER,
    MOST_BITS,
    MOST_COMPARED,
    MOST_SAMPLES,
    MOST_TASKS,
    MOST_TURNS,
    NONE,
    TURN,
    Cost,
    Factor,
    function_steps,
    helper_steps,
)
from sonde.bpf.work.numbers import (
    CELL,
    FUNCTION,
    MAP,
    MAX64,
    STACK,
    TURNS,
    UNKNOWN_PLACE,
    Known,
    between,
    computed,
    constant,
    low_half,
    signed,
    unknown,
)
from sonde.bpf.work.states import WorkState
from sonde.typed import NamedTuple

_NUMBERS, _ITERATOR = 8, 24
"""Bytes of an iterator of numbers, and of the largest other one."""

_SIZES = frozenset({"size", "size_or_zero"})
_ELEMENTS = frozenset({"key", "value", "value_out"})
_WRITTEN = frozenset({"memory_out", "memory_out_or_null", "value_out", "long_out"})

_LOOP, _EACH, _DRAIN, _FIND_VMA, _TIMER, _TAIL_CALL = (
    helpers.NUMBERS[name]
    for name in ("loop", "for_each_map_elem", "user_ringbuf_drain", "find_vma", "timer_set_callback", "tail_call")
)


class WorkMap(NamedTuple):
    """Of a map: bytes of a key and a value, and to how many elements for_each_map_elem may come.
    `content` are the bytes of its only value where these never change."""

    element_size: int
    visits: int
    content: bytes | None = None


class IteratorEvent(NamedTuple):
    """A call that begins an iterator or asks it for the next element, in a block; `place` is the iterator's frame and
    place there, None if it is not known."""

    is_new: bool
    place: tuple[int, int] | None
    block: int


class MeteredFunction(NamedTuple):
    """How many arguments a function has, and the most steps of a call of it, without those of metered calls in it."""

    arguments: int
    steps: int


class Steps:
    """Carries out all but jumps and calls of the program's own functions."""

    def __init__(
        self, code: Sequence[Instruction], maps: Mapping[str, WorkMap], references: Mapping[int, str],
        kernel_function: Callable[[int], str], stamped: Set[int], is_metered: bool,
    ) -> None:  # fmt: skip
        self.code = code
        self._is_metered = is_metered
        self.events: list[IteratorEvent] = []
        self.arrays: set[str] = set()
        self.calls_within = False
        self.active: list[int] = []
        """The functions that are followed, each called by the one before."""
        self.metered: dict[int, MeteredFunction] = {}
        """The functions whose calls by helpers are metered when the program runs, by where they begin."""
        self.later: set[int] = set()
        """Functions that run as firings of their own."""
        self._maps = maps
        self._references = references
        self._kernel_function = kernel_function
        self._stamped = stamped
        self._most_memory = max([512, *(each.element_size for each in maps.values())])

    def alone(self, function: int, most: int) -> Cost:
        """Of a function that is called back, whose first argument is at most that."""
        raise NotImplementedError

    def number(self, x: Instruction) -> Known:
        """The immediate of an arithmetic instruction or a jump, as it is compared."""
        is_wide = x.opcode & 7 in (i.ALU64, i.JMP)
        return constant(x.imm if is_wide else x.imm & 0xFFFFFFFF)

    def step(self, at: int, x: Instruction, state: WorkState) -> None:
        """Carry out an instruction that neither calls nor jumps."""
        kind, registers = x.opcode & 7, state.registers
        if x.opcode == i.LD_IMM64:
            registers[_named(x.dst)] = self._immediate(at, x)
        elif kind in (i.ALU, i.ALU64):
            b = registers[_named(x.src)] if x.opcode & i.X else self.number(x)
            registers[_named(x.dst)] = computed(x, registers[_named(x.dst)], b)
        elif kind == i.LDX:
            registers[_named(x.dst)] = self._loaded(x, state)
        elif kind in (i.ST, i.STX):
            self._store(x, state)
        elif kind == i.LD:
            registers[:6] = [unknown() for _ in range(6)]

    def _immediate(self, at: int, x: Instruction) -> Known:
        second = self.code[at + 1].imm & 0xFFFFFFFF if at + 1 < len(self.code) else 0
        if x.src == i.PSEUDO_VALUE and at not in self._stamped:
            return constant(x.imm & 0xFFFFFFFF | second << 32)
        if x.src == i.PSEUDO_FUNC:
            return Known(FUNCTION, at + 1 + x.imm, 0)
        name = self._references.get(at)
        if name is None:
            return unknown()
        if x.src in (i.PSEUDO_MAP_FD, i.PSEUDO_MAP_INDEX):
            return Known(MAP, 0, 0, 0, name)
        return Known(CELL, second, second, 0, name)

    def _loaded(self, x: Instruction, state: WorkState) -> Known:
        size, base = i.BYTES_OF_SIZE[x.opcode & 0x18], state.registers[_named(x.src)]
        if x.opcode & 0xE0 == i.MEMSX:
            found = self._cell(base, x.offset, size) or state.load(base, x.offset, size)
            return found if found.is_number and found.high < 1 << 8 * size - 1 else unknown()
        return self._cell(base, x.offset, size) or state.load(base, x.offset, size)

    def _cell(self, base: Known, offset: int, size: int) -> Known | None:
        """What never changes."""
        made = self._maps.get(base.name) if base.kind == CELL else None
        if made is None or made.content is None or not 0 <= base.low + offset <= len(made.content) - size:
            return None
        return constant(int.from_bytes(made.content[base.low + offset :][:size], "little"))

    def _store(self, x: Instruction, state: WorkState) -> None:
        size, base = i.BYTES_OF_SIZE[x.opcode & 0x18], state.registers[_named(x.dst)]
        if x.opcode & 0xE0 != i.ATOMIC or x.opcode & 7 == i.ST:
            value = constant(x.imm) if x.opcode & 7 == i.ST else state.registers[_named(x.src)]
            state.store(base, x.offset, size, value)
        elif x.imm == i.LOAD_ACQUIRE:
            state.registers[_named(x.dst)] = state.load(state.registers[_named(x.src)], x.offset, size)
        else:
            state.store(base, x.offset, size, None)
            if x.imm == i.CMPXCHG:
                state.registers[0] = unknown()
            elif x.imm & i.FETCH:
                state.registers[_named(x.src)] = unknown()

    # Calls of the kernel

    def call(self, at: int, x: Instruction, state: WorkState, cost: Cost, block: int) -> Cost:
        """Carry out a call of the kernel; the cost with it."""
        given = state.registers[1:6]
        result = unknown()
        if x.src == i.CALL_KFUNC:
            name = self._kernel_function(x.imm) if not x.offset else ""
            cost, result = self._function(at, name, given, state, cost, block)
        else:
            signature = SIGNATURES.get(x.imm)
            self._written(signature, given, state)
            sizes = [
                given[place] for place, kind in enumerate(signature.arguments) if kind in _SIZES
            ] if signature is not None else []  # fmt: skip
            steps = helper_steps(x.imm, sizes, self._map_bytes(signature, given), self._most_memory)
            cost = cost._replace(other=cost.other + steps)
            cost, result = self._helper(at, x.imm, given, state, cost)
        state.registers[:6] = [result, *(unknown() for _ in range(5))]
        return cost

    def _map_bytes(self, signature: Signature | None, given: Sequence[Known]) -> int:
        """Of an element of the map that a helper goes to."""
        if signature is None or "map" not in signature.arguments or not _ELEMENTS & set(signature.arguments):
            return 0
        made = self._maps.get(given[signature.arguments.index("map")].name)
        return made.element_size if made is not None else self._most_memory

    def _written(self, signature: Signature | None, given: Sequence[Known], state: WorkState) -> None:
        """What a helper may write to."""
        if signature is None:
            for each in given:
                state.forget(each)
            return
        for place, kind in enumerate(signature.arguments):
            if kind in _WRITTEN:
                follows = place + 1 < len(signature.arguments) and signature.arguments[place + 1] in _SIZES
                size = given[place + 1] if follows else constant(8)
                state.forget(given[place], size.high if size.is_number and kind != "value_out" else 512)

    def _helper(self, at: int, number: int, given: Sequence[Known], state: WorkState, cost: Cost) -> tuple[Cost, Known]:
        if number == _TAIL_CALL:
            array = given[1]
            self.arrays.add(array.name if array.kind == MAP else "")
            self.calls_within |= len(self.active) > 1
        elif number == _LOOP:
            # It is a number of 32 bits, and one that is too large is an error.
            count = low_half(given[0])
            turns = min(count.high, MOST_TURNS) if count.low <= MOST_TURNS else 0
            cost = self._turned(at, given[1], turns, max(turns - 1, 0), 2, state, cost)
            return cost, between(0, turns) if count.high <= MOST_TURNS else unknown()
        elif number == _EACH:
            made = self._maps.get(given[0].name) if given[0].kind == MAP else None
            turns = made.visits if made is not None else max((each.visits for each in self._maps.values()), default=0)
            cost = self._turned(at, given[1], turns, MAX64, 4, state, cost)
        elif number == _DRAIN:
            cost = self._called_back(at, given[1], MOST_SAMPLES, MAX64, state, cost)
        elif number == _FIND_VMA:
            cost = self._called_back(at, given[2], 1, MAX64, state, cost)
        elif number == _TIMER:
            self.later.update(self._targets(given[1]))
        return cost, unknown()

    def _targets(self, function: Known) -> list[int]:
        """What a function's address may be."""
        if function.kind == FUNCTION:
            return [function.low]
        return sorted({at + 1 + x.imm for at, x in enumerate(self.code) if _is_address(x)})

    def _turned(
        self, at: int, function: Known, turns: int, most: int, arguments: int, state: WorkState, cost: Cost
    ) -> Cost:
        """A helper whose turns can be metered calls a function so often."""
        if not self._is_metered:
            return self._called_back(at, function, turns, most, state, cost)
        state.words.clear()
        for each in self._targets(function):
            steps = self.alone(each, most).steps + TURN + METER
            before = self.metered.get(each, MeteredFunction(arguments, 0))
            self.metered[each] = MeteredFunction(min(arguments, before.arguments), max(steps, before.steps))
        # The last of them, for which nothing was left, may still begin.
        return cost._replace(other=cost.other + TURN + METER)

    def _called_back(self, at: int, function: Known, turns: int, most: int, state: WorkState, cost: Cost) -> Cost:
        """A helper calls a function so often, with a first argument up to `most`."""
        state.words.clear()
        dearest = max((self.alone(each, most) for each in self._targets(function)), key=_steps, default=NONE)
        return cost.with_loop(turns * (dearest.steps + TURN), (Factor(turns, at), *dearest.factors))

    def _function(
        self, at: int, name: str, given: Sequence[Known], state: WorkState, cost: Cost, block: int
    ) -> tuple[Cost, Known]:
        """A function of the kernel that is no helper."""
        place = (given[0].low, given[0].high) if given[0].kind == STACK and given[0].high != UNKNOWN_PLACE else None
        turns = state.words.get(place) if place is not None else None
        cost = cost._replace(other=cost.other + function_steps(name))
        for each in given:
            if name.startswith("bpf_iter_"):
                state.forget(each, _NUMBERS if name.startswith("bpf_iter_num_") else _ITERATOR)
            else:
                state.forget(each)
        if name.startswith("bpf_iter_") and name.endswith("_new"):
            self.events.append(IteratorEvent(True, place, block))
            if place is not None:
                state.words[place] = 8, Known(TURNS, 0, _elements(name, given))
        elif name.startswith("bpf_iter_") and name.endswith("_next"):
            self.events.append(IteratorEvent(False, place, block))
            return cost.settled(), self._next(place, turns, state)
        callbacks = [each for each in given if each.kind == FUNCTION]
        for each in callbacks:
            if name.startswith(("bpf_wq_", "bpf_timer_", "bpf_task_work_")):
                self.later.add(each.low)
            else:
                turns_of = MOST_COMPARED if name.startswith("bpf_rbtree_add") else MOST_TURNS
                cost = self._called_back(at, each, turns_of, MAX64, state, cost)
        return cost, unknown()

    def _next(self, place: tuple[int, int] | None, turns: tuple[int, Known] | None, state: WorkState) -> Known:
        """The next element, which an iterator has not that has given all."""
        if place is None or turns is None or turns[1].kind != TURNS:
            return unknown()
        left = turns[1].high
        state.words[place] = 8, Known(TURNS, 0, max(left - 1, 0))
        return unknown() if left else constant(0)


def _steps(cost: Cost) -> int:
    return cost.steps


def _named(register: int) -> int:
    """A register; there are no others in what a verifier takes."""
    return min(register, 10)


def _is_address(x: Instruction) -> bool:
    return x.opcode == i.LD_IMM64 and x.src == i.PSEUDO_FUNC


def _elements(name: str, given: Sequence[Known]) -> int:
    """That an iterator can give."""
    if name == "bpf_iter_num_new":
        begin, end = signed(low_half(given[1]), 32), signed(low_half(given[2]), 32)
        return min(max(end[1] - begin[0], 0), MOST_TURNS)
    return MOST_BITS if name == "bpf_iter_bits_new" else MOST_TASKS
