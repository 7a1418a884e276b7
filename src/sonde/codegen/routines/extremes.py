"""Words that only grow, as the extremes of values are kept (`sonde.model.aggregating`)."""

from __future__ import annotations

from sonde.codegen.intermediate.builder import Builder
from sonde.codegen.intermediate.ir import Atomic, BpfFunction, Imm, Reg

_TRIES = 4
"""How often a compare-and-exchange can fail on one CPU: once for each firing nested in this one."""


def raise_to(b: Builder, at: Reg, offset: int, new: Reg) -> None:
    """Make the word there at least `new` (unsigned)."""
    done = b.label()
    for _ in range(_TRIES):
        old = b.in_register(b.load(at, offset, 8))
        b.branch("ge", old, new, done)
        seen = b.register()
        b.emit(Atomic("cmpxchg", at, offset, 8, new, seen, old))
        b.branch("eq", seen, old, done)
    b.place(done)


def widen() -> BpfFunction:
    """(extent, word of the greatest): have the extent at this address include a value, by its distance from INT64_MIN.

    Its distance from INT64_MAX, which is kept of the least value, is the complement of that.
    """
    b = Builder("widen", 2)
    at, greatest = b.function.parameters
    raise_to(b, at, 0, b.in_register(b.alu("xor", greatest, Imm(-1))))
    raise_to(b, at, 8, greatest)
    b.ret(Imm(0))
    return b.function
