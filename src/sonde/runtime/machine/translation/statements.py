"""The statements of a basic block as they come to be.

The block is run on expressions instead of numbers. What is read once is put where it is read, what is never read is
left out, numbers are folded; only the registers that are needed behind the block are sure to be in their variables.
"""

from __future__ import annotations

from sonde.bpf import instructions as i
from sonde.runtime.machine.translation import liveness
from sonde.runtime.machine.translation.facts import FRAME, Facts, as_known
from sonde.runtime.machine.translation.runs import RunOfStores
from sonde.runtime.machine.translation.stack_slots import StackSlots
from sonde.runtime.machine.translation.unit import Unit
from sonde.runtime.machine.translation.values import RangedExpression, constant, masked, text, variable

_DEEPEST = 12
"""How deeply an expression may be nested."""


class Statements:
    """A block under translation. `lines` is what it has come to, `condition` that of the jump at its end and its
    negation."""

    def __init__(
        self, unit: Unit, slots: tuple[int, ...], facts: Facts, live_out: frozenset[int], stack: StackSlots
    ) -> None:
        self.unit = unit
        self.stack = stack
        self.lines: list[str] = []
        self.run: RunOfStores | None = None
        self.condition: tuple[str, str] | None = None
        self._slots = slots
        self._live_out = live_out
        self._uses: dict[tuple[int, int], tuple[int, bool]] = {}
        self._left = self._count()
        self._values = dict(facts)

    def facts(self) -> dict[int, RangedExpression]:
        """What is known of the registers behind the block."""
        return {register: as_known(register, self._values.get(register)) for register in range(10)}

    def read(self, register: int) -> RangedExpression:
        """The register's value, for one of the times that the instruction reads it."""
        if register == i.R10:
            return FRAME
        value = self._values[register]
        self._left[register] -= 1
        return value

    def simple(self, value: RangedExpression) -> RangedExpression:
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

    def assign(self, name: str, value: RangedExpression) -> None:
        """Give a variable that other values may be made of its value."""
        self._settle([register for register, other in self._values.items() if name in other.reads])
        self.emit(f"{name} = {text(value)}")

    def define(self, slot: int, register: int, value: RangedExpression, is_pure: bool = True) -> None:
        """The instruction at `slot` gives the register this value; what is not pure has to be evaluated here."""
        count, needed = self._uses[slot, register]
        self._left[register] = 0
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
        self._left[register] = count

    def _count(self) -> dict[int, int]:
        """How often each value is read before the next one takes its place, and whether it is needed behind the block:
        for those made here, into `_uses`. For those that are there from the beginning, how often they are read."""
        counts = dict.fromkeys(range(10), 0)
        needed = {register: register in self._live_out for register in range(10)}
        for slot in reversed(self._slots):
            x = self.unit.code[slot]
            for register in liveness.writes(x):
                self._uses[slot, register] = counts[register], needed[register]
                counts[register], needed[register] = 0, False
            for register in liveness.reads(x, slot, self.unit.call_reads):
                counts[register] += 1
        return counts

    def _settle(self, registers: list[int]) -> None:
        for register in registers:
            value = self._values[register]
            if not self._left[register]:
                continue
            if value.constant is None and not value.frame:
                name = self.unit.temporary()
                self.emit(f"{name} = {text(value)}")
                self._values[register] = variable(name, value.lo, value.hi)
