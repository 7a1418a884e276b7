"""A basic block as straight-line Python.

The block is run on expressions instead of numbers. What is read once is put where it is read, what is never read is
left out, numbers are folded; only the registers that are needed behind the block are sure to be in their variables.
"""

from __future__ import annotations

from collections.abc import Mapping

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.engines.embedded.machine import liveness, values
from sonde.engines.embedded.machine.arithmetic import MASKS
from sonde.engines.embedded.machine.calls import call
from sonde.engines.embedded.machine.memory_access import atomic, load, packet, store
from sonde.engines.embedded.machine.stack_slots import StackSlots
from sonde.engines.embedded.machine.unit import Unit
from sonde.engines.embedded.machine.values import M64, Value, constant, masked, text, variable
from sonde.typed import NamedTuple

_DEEPEST = 12
"""How deeply an expression may be nested."""

_LOWEST_FRAME, _HIGHEST_FRAME = 0xFFFF_8000_0000_0000, 0xFFFF_FFFE_FFFF_FFFF

FRAME = Value("r10", 0, _LOWEST_FRAME, _HIGHEST_FRAME, frozenset(("r10",)), frame=True)
"""The frame pointer: where regions are, so that what is near it is no smaller and no larger than a register."""

Facts = Mapping[int, Value]
"""What is known of r0 to r9 where a block begins: a number, a place in the frame, or the register's own variable."""


class Straight:
    """A block under translation. `lines` is what it has come to, `condition` that of the jump at its end and its
    negation."""

    def __init__(
        self, unit: Unit, slots: tuple[int, ...], facts: Facts, live_out: frozenset[int], stack: StackSlots
    ) -> None:
        self.unit = unit
        self.stack = stack
        self.lines: list[str] = []
        self.condition: tuple[str, str] | None = None
        self._slots = slots
        self._live_out = live_out
        self._uses: dict[tuple[int, int], tuple[int, bool]] = {}
        self._left, self._needed = self._count()
        self._values = dict(facts)

    def translate(self) -> None:
        """All of the block: the lines, and the condition if it ends with one."""
        for slot in self._slots:
            self._instruction(slot, self.unit.code[slot])

    def facts(self) -> dict[int, Value]:
        """What is known of the registers behind the block."""
        return {register: _as_known(register, self._values.get(register)) for register in range(10)}

    # What the instructions' translations use.

    def read(self, register: int) -> Value:
        """The register's value, for one of the times that the instruction reads it."""
        if register == i.R10:
            return FRAME
        value = self._values[register]
        self._left[register] -= 1
        return value

    def simple(self, value: Value) -> Value:
        """The same as a number or a variable."""
        if value.is_simple:
            return value
        name = self.unit.temporary()
        self.emit(f"{name} = {text(value)}")
        return variable(name, value.lo, value.hi)

    def emit(self, line: str) -> None:
        """A statement."""
        self.lines.append(line)

    def settle_loads(self) -> None:
        """Make what is loaded but not yet read a variable, before memory changes."""
        self._settle([register for register in self._values if self._values[register].loads])

    def assign(self, name: str, value: Value) -> None:
        """Give a variable that other values may be made of its value."""
        self._settle([register for register, other in self._values.items() if name in other.reads])
        self.emit(f"{name} = {text(value)}")

    def define(self, slot: int, register: int, value: Value, is_pure: bool = True) -> None:
        """The instruction at `slot` gives the register this value; what is not pure has to be evaluated here."""
        count, needed = self._uses[slot, register]
        self._left[register], self._needed[register] = 0, False
        if not count and not needed:
            if value.loads or not is_pure:
                self.emit(text(value))
            self._values[register] = constant(0)
            return
        cheap = value.is_simple or value.frame or (count == 1 and is_pure and value.depth < _DEEPEST)
        if needed or not cheap:
            value = masked(value)
            name = f"r{register}"
            if value.term != name or value.addend:
                self.assign(name, value)
            if value.constant is None and not value.frame:
                value = variable(name, value.lo, value.hi)
        self._values[register] = value
        self._left[register], self._needed[register] = count, needed

    # The rest is the block's own.

    def _count(self) -> tuple[dict[int, int], dict[int, bool]]:
        """How often each value is read before the next one takes its place, and whether it is needed behind the block:
        those made here into `_uses`, those that are there from the beginning returned."""
        counts = dict.fromkeys(range(10), 0)
        needed = {register: register in self._live_out for register in range(10)}
        for slot in reversed(self._slots):
            x = self.unit.code[slot]
            for register in liveness.writes(x):
                self._uses[slot, register] = counts[register], needed[register]
                counts[register], needed[register] = 0, False
            for register in liveness.reads(x, slot, self.unit.call_reads):
                counts[register] += 1
        return counts, needed

    def _settle(self, registers: list[int]) -> None:
        for register in registers:
            value = self._values[register]
            if not self._left[register]:
                continue
            if value.constant is None and not value.frame:
                name = self.unit.temporary()
                self.emit(f"{name} = {text(value)}")
                self._values[register] = variable(name, value.lo, value.hi)

    def _instruction(self, slot: int, x: Instruction) -> None:
        match x.opcode & 7:
            case i.ALU | i.ALU64:
                self.define(slot, x.dst, self._arithmetic(x))
            case i.LDX:
                load(self, slot, x)
            case i.ST:
                store(self, x, constant(x.imm))
            case i.STX if x.opcode & 0xE0 == i.ATOMIC:
                atomic(self, slot, x)
            case i.STX:
                address = self.read(x.dst)
                store(self, x, self.read(x.src), address)
            case i.LD if x.opcode == i.LD_IMM64:
                following = self.unit.code[slot + 1]
                number = x.imm & values.M32 | (following.imm & values.M32) << 32
                self.define(slot, x.dst, constant(number))
            case i.LD:
                packet(self, slot, x)
            case _:
                self._flow(slot, x)

    def _arithmetic(self, x: Instruction) -> Value:
        bits, operation = 64 if x.opcode & 7 == i.ALU64 else 32, x.opcode & 0xF0
        if operation == i.END:
            value = self.read(x.dst)
            return masked(value, x.imm) if x.opcode & 15 == i.ALU | i.K else values.swapped(value, x.imm)
        if operation == i.NEG:
            return values.calculate(i.SUB, constant(0), self.read(x.dst), bits)
        if operation == i.MOV:
            value = self.read(x.src) if x.opcode & i.X else constant(x.imm & M64)
            if x.offset:
                return values.extended(value, x.offset, bits)
            return masked(value, 32) if bits == 32 else value
        left = self.read(x.dst)
        right = self.read(x.src) if x.opcode & i.X else constant(x.imm & MASKS[bits])
        if operation in (i.DIV, i.MOD):
            left, right = self.simple(masked(left, bits)), self.simple(masked(right, bits))
        return values.calculate(operation, left, right, bits, x.offset == 1)

    def _flow(self, slot: int, x: Instruction) -> None:
        operation = x.opcode & 0xF0
        if x.opcode & 0xF7 == i.JMP | i.CALL:
            call(self, slot, x)
        elif x.opcode == i.JMP | i.EXIT:
            self.emit(f"return {text(masked(self.read(i.R0)))}")
        elif operation == i.JCOND:
            self.emit("loops -= 1")
            self.condition = "loops < 0", "loops >= 0"
        elif operation != i.JA:
            bits = 64 if x.opcode & 7 == i.JMP else 32
            left = self.read(x.dst)
            right = self.read(x.src) if x.opcode & i.X else constant(x.imm & MASKS[bits])
            self.condition = values.condition(operation, left, right, bits)


def _as_known(register: int, value: Value | None) -> Value:
    if value is None:
        return variable(f"r{register}")
    if value.frame or value.constant is not None:
        return value
    value = masked(value)
    return variable(f"r{register}", value.lo, value.hi)


def join(register: int, known: list[Value]) -> Value:
    """What is known of a register where several ways meet."""
    first = known[0]
    if all(other == first for other in known):
        return first
    if any(value.frame for value in known):
        return variable(f"r{register}")
    return variable(f"r{register}", min(value.lo for value in known), max(value.hi for value in known))


class Bounds(NamedTuple):
    """The least and the greatest number that the register can be."""

    register: int
    lo: int
    hi: int


def refine(x: Instruction, facts: Facts, is_taken: bool) -> Bounds | None:
    """What the outcome of a jump on a comparison with a number tells about the register compared."""
    if x.opcode & i.X or x.dst == i.R10 or x.opcode & 7 not in (i.JMP, i.JMP32):
        return None
    value, number = facts[x.dst], x.imm & M64
    if value.frame or (x.opcode & 7 == i.JMP32 and value.hi > values.M32):
        return None
    if x.opcode & 7 == i.JMP32:
        number &= values.M32
    outcomes = _OUTCOMES.get(x.opcode & 0xF0)
    if outcomes is None:
        return None
    match outcomes[not is_taken]:
        case "==":
            lo, hi = number, number
        case ">":
            lo, hi = number + 1, value.hi
        case ">=":
            lo, hi = number, value.hi
        case "<":
            lo, hi = value.lo, number - 1
        case "<=":
            lo, hi = value.lo, number
        case _:
            lo = number + 1 if value.lo == number else value.lo
            hi = number - 1 if value.hi == number else value.hi
    lo, hi = max(lo, value.lo), min(hi, value.hi)
    return Bounds(x.dst, lo, hi) if lo <= hi else None


_OUTCOMES = {
    i.JEQ: ("==", "!="), i.JNE: ("!=", "=="), i.JGT: (">", "<="), i.JLE: ("<=", ">"), i.JGE: (">=", "<"),
    i.JLT: ("<", ">="),
}  # fmt: skip
