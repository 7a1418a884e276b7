"""What the translator knows of registers between blocks."""

from __future__ import annotations

from collections.abc import Mapping

from sonde.bpf import instructions as i
from sonde.bpf.instructions import Instruction
from sonde.runtime.machine.translation import values
from sonde.runtime.machine.translation.values import M64, RangedExpression, masked, variable
from sonde.typed import NamedTuple

_LOWEST_FRAME, _HIGHEST_FRAME = 0xFFFF_8000_0000_0000, 0xFFFF_FFFE_FFFF_FFFF

FRAME = RangedExpression("r10", 0, _LOWEST_FRAME, _HIGHEST_FRAME, frozenset(("r10",)), frame=True)
"""The frame pointer: where regions are, so that what is near it is no smaller and no larger than a register."""

Facts = Mapping[int, RangedExpression]
"""What is known of r0 to r9 where a block begins: a number, a place in the frame, or the register's own variable."""


def as_known(register: int, value: RangedExpression | None) -> RangedExpression:
    """What the blocks behind may know of a register that has this value."""
    if value is None:
        return variable(f"r{register}")
    if value.frame or value.constant is not None:
        return value
    value = masked(value)
    return variable(f"r{register}", value.lo, value.hi)


def join(register: int, known: list[RangedExpression]) -> RangedExpression:
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
