"""What a program may do beside its helpers: which results it can have, and whether it writes to its context or to a
packet.

An abstract interpretation without paths: at each instruction one value for each register, joined over all ways there.
A value is what may be pointed to, and a number where it is the same on all ways. It takes for granted what the kernel's
verifier demands of a program, without which none is loaded: so memory is only written through pointers, pointers to a
context or a packet are found in registers and on the stack alone, and only there as whole words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sonde.bpf import instructions as i
from sonde.bpf import programs
from sonde.bpf.instructions import Instruction
from sonde.bpf.observing import READS_MEMORY
from sonde.bpf.signatures import SIGNATURES
from sonde.typed import NamedTuple, TypeAlias

CONTEXT, PACKET, STACK = 1, 2, 4
_OUTSIDE = CONTEXT | PACKET
_INDIRECT_JUMP = i.JMP | i.X | i.JA
_MASK = (1 << 64) - 1
_WORD = 8

_PACKET_POINTERS = {programs.XDP: (0, 8), programs.SCHED_CLS: (76, 140)}
"""Where a context has pointers to a packet's bytes: data and data_meta of struct xdp_md and struct __sk_buff. The one
to its end cannot be written through."""


class ConductValue(NamedTuple):
    """`points_to`: CONTEXT, PACKET, STACK, any of which it may point to; 0: a number, or a pointer to a map's value and
    the like. `number` is the number or the distance from where that begins, None if it is not known."""

    points_to: int
    number: int | None


class Conduct(NamedTuple):
    """`results` are the low 32 bits of all results that there can be, None if they are not known. `writes` are the
    instructions that may write to the context or a packet, or that jump no one knows where to."""

    results: frozenset[int] | None
    writes: tuple[int, ...]


_ANY = ConductValue(0, None)
_State: TypeAlias = "tuple[ConductValue | None, ...]"
"""The registers; None is one that has not been set: what is read has been, on all ways that the verifier sees."""


def conduct(code: list[Instruction], kind: int, stamped: Iterable[int] = ()) -> Conduct:
    """Of a program of that type; `stamped` are the instructions whose constant is another one when it is loaded.

    What is returned of code that no verifier takes means nothing.
    """
    return Interpretation(code, kind, frozenset(stamped)).conduct()


class Interpretation:
    """The abstract interpretation of a program; `states` has what is known of r0 to r10 before each instruction that is
    reached."""

    def __init__(self, code: list[Instruction], kind: int, stamped: frozenset[int]) -> None:
        self._code = code
        self._kind = kind
        self._stamped = stamped
        self.states: dict[int, _State] = {}
        self._functions: dict[int, int] = {}
        """The function that each instruction which is reached is in, by its first instruction."""
        self._slots: dict[tuple[int, int], int] = {}
        """What the words of each function's frame may point to, by their place."""
        self._anywhere = 0
        """What words of the stack may point to whose place is not known."""
        self._returned: dict[int, ConductValue] = {}
        self._waiting: list[int] = []
        self._has_changed = False
        self._enter(0, [ConductValue(CONTEXT, 0)])
        while True:
            self._has_changed = False
            while self._waiting:
                at = self._waiting.pop()
                for following, state in self._step(at, self.states[at]):
                    self._reach(following, state, self._functions[at])
            if not self._has_changed:
                return
            # What stands on the stack, and what functions return, is the same for all who ask.
            self._waiting = list(self.states)

    def conduct(self) -> Conduct:
        """What has been found."""
        exits = [at for at in self.states if self._code[at].opcode == i.JMP | i.EXIT and not self._functions[at]]
        values = [self.states[at][0] or _ANY for at in exits]
        known = {each.number & 0xFFFFFFFF for each in values if each.number is not None and not each.points_to}
        is_known = all(each.number is not None and not each.points_to for each in values)
        writes = tuple(at for at in sorted(self.states) if self._writes(self._code[at], self.states[at]))
        return Conduct(frozenset(known) if is_known else None, writes)

    def _enter(self, function: int, arguments: list[ConductValue]) -> None:
        missing = [None] * (9 - len(arguments))
        self._reach(function, (None, *arguments, *missing, ConductValue(STACK, 0)), function)

    def _reach(self, at: int, state: _State, function: int) -> None:
        if not 0 <= at < len(self._code):
            return
        known = self.states.get(at)
        joined = state if known is None else tuple(map(_join, known, state))
        if joined != known:
            self.states[at] = joined
            self._functions.setdefault(at, function)
            self._waiting.append(at)

    def _writes(self, x: Instruction, state: _State) -> bool:
        if x.opcode & 7 in (i.ST, i.STX) and not _is_load_acquire(x):
            return bool((state[x.dst] or _ANY).points_to & _OUTSIDE)
        if x.opcode == _INDIRECT_JUMP:
            return True
        if x.opcode != i.JMP | i.CALL or x.src == i.CALL_LOCAL:
            return False
        if x.src == i.CALL_HELPER and x.imm in READS_MEMORY:
            return False
        known = SIGNATURES.get(x.imm) if x.src == i.CALL_HELPER else None
        count = len(known.arguments) if known is not None else 5
        return any((each or _ANY).points_to & PACKET for each in state[1 : 1 + count])

    # One instruction

    def _step(self, at: int, state: _State) -> Iterator[tuple[int, _State]]:
        x = self._code[at]
        kind, following = x.opcode & 7, at + 1
        registers = list(state)
        if x.opcode == i.LD_IMM64:
            registers[x.dst] = self._constant(at, x, registers)
            following += 1
        elif kind in (i.ALU, i.ALU64):
            registers[x.dst] = _arithmetic(x, registers[x.dst] or _ANY, registers[x.src] or _ANY)
        elif kind == i.LDX or _is_load_acquire(x):
            registers[x.dst] = self._loaded(at, x, registers[x.src] or _ANY)
        elif kind in (i.ST, i.STX):
            self._store(at, x, registers)
        elif kind == i.LD:
            registers[:6] = [_ANY] * 6
        elif x.opcode == i.JMP | i.CALL:
            self._call(at, x, registers)
            if x.src == i.CALL_LOCAL and at + 1 + x.imm not in self._returned:
                return  # it has not been seen to return yet
        elif kind in (i.JMP, i.JMP32):
            yield from self._jump(at, x, state)
            return
        yield following, tuple(registers)

    def _constant(self, at: int, x: Instruction, registers: list[ConductValue | None]) -> ConductValue:
        if x.src == i.PSEUDO_FUNC:
            # Callbacks get elements of maps, numbers, and a pointer to the stack of who passes them.
            self._enter(at + 1 + x.imm, [ConductValue(STACK, None)] * 5)
        if x.src != i.PSEUDO_VALUE or at in self._stamped or at + 1 >= len(self._code):
            return _ANY
        return ConductValue(0, (x.imm & 0xFFFFFFFF) | (self._code[at + 1].imm & 0xFFFFFFFF) << 32)

    def _loaded(self, at: int, x: Instruction, base: ConductValue) -> ConductValue:
        found = 0
        if base.points_to & CONTEXT and self._kind in _PACKET_POINTERS:
            offset = None if base.number is None else base.number + x.offset
            found |= PACKET if offset is None or offset in _PACKET_POINTERS[self._kind] else 0
        if base.points_to & STACK and x.opcode & 0x18 == i.DW:
            place = self._place(at, x.offset, base)
            found |= self._anywhere
            for slot, held in self._slots.items():
                found |= held if place is None or (place[0] == slot[0] and abs(place[1] - slot[1]) < _WORD) else 0
        return ConductValue(found, None)

    def _store(self, at: int, x: Instruction, registers: list[ConductValue | None]) -> None:
        base, value = registers[x.dst] or _ANY, registers[x.src] or _ANY
        if x.opcode & 7 == i.STX and value.points_to and base.points_to & STACK:
            place = self._place(at, x.offset, base)
            before = self._anywhere if place is None else self._slots.get(place, 0)
            if before | value.points_to != before:
                self._has_changed = True
                if place is None:
                    self._anywhere |= value.points_to
                else:
                    self._slots[place] = before | value.points_to
        if x.opcode & 0xE0 == i.ATOMIC and x.opcode & 7 == i.STX:
            if x.imm == i.CMPXCHG:
                registers[0] = _ANY
            elif x.imm & i.FETCH:
                registers[x.src] = _ANY

    def _place(self, at: int, offset: int, base: ConductValue) -> tuple[int, int] | None:
        """The function and the place in its frame; None where they are not known."""
        if base.points_to != STACK or base.number is None:
            return None
        return self._functions[at], base.number + offset

    def _call(self, at: int, x: Instruction, registers: list[ConductValue | None]) -> None:
        result = _ANY
        if x.src == i.CALL_LOCAL:
            function = at + 1 + x.imm
            self._enter(function, [_passed(each or _ANY) for each in registers[1:6]])
            result = self._returned.get(function, _ANY)
        registers[:6] = [result, *[None] * 5]

    def _jump(self, at: int, x: Instruction, state: _State) -> Iterator[tuple[int, _State]]:
        operation = x.opcode & 0xF0
        if x.opcode & 7 == i.JMP and operation == i.EXIT:
            self._return(self._functions[at], state[0] or _ANY)
            return
        is_long = x.opcode == i.JMP32 | i.JA
        yield at + 1 + (x.imm if is_long else x.offset), state
        if operation != i.JA:
            yield at + 1, state

    def _return(self, function: int, value: ConductValue) -> None:
        before = self._returned.get(function)
        # An address of its own frame is of no use to who called it.
        joined = _passed(value) if before is None else _joined(before, _passed(value))
        if joined != before:
            self._returned[function] = joined
            self._has_changed = True


def _arithmetic(x: Instruction, a: ConductValue, b: ConductValue) -> ConductValue:
    """Only what keeps a pointer one, and what it takes to follow constants."""
    operation, is_wide = x.opcode & 0xF0, x.opcode & 7 == i.ALU64
    is_number = x.opcode & i.X == i.K
    if is_number and operation != i.END:
        b = ConductValue(0, x.imm if is_wide else x.imm & 0xFFFFFFFF)
    if operation == i.MOV and not x.offset:
        if is_wide:
            return b if b.points_to or b.number is None else ConductValue(0, b.number & _MASK)
        return ConductValue(0, None if b.points_to or b.number is None else b.number & 0xFFFFFFFF)
    if not is_wide or operation not in (i.ADD, i.SUB):
        return _ANY
    number = None
    if a.number is not None and b.number is not None and not (a.points_to and b.points_to):
        first, second = _signed(a.number), _signed(b.number)
        number = first + second if operation == i.ADD else first - second
    if operation == i.SUB:
        # A pointer less a pointer is a number; a number less a pointer is refused.
        return _value(a.points_to, number if not b.points_to else None)
    return _value(a.points_to | b.points_to, number)


def _value(points_to: int, number: int | None) -> ConductValue:
    return ConductValue(points_to, number if number is None or points_to else number & _MASK)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 == 1 else number


def _is_load_acquire(x: Instruction) -> bool:
    return x.opcode & 0xE7 == i.STX | i.ATOMIC and x.imm == i.LOAD_ACQUIRE


def _passed(value: ConductValue) -> ConductValue:
    """What another function gets: frames' places mean nothing there."""
    return ConductValue(value.points_to, None) if value.points_to & STACK else value


def _join(a: ConductValue | None, b: ConductValue | None) -> ConductValue | None:
    if a is None or b is None:
        return b if a is None else a
    return _joined(a, b)


def _joined(a: ConductValue, b: ConductValue) -> ConductValue:
    return a if a == b else ConductValue(a.points_to | b.points_to, a.number if a.number == b.number else None)
