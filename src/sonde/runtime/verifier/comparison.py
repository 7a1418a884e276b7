"""What a conditional jump tells of the two numbers it compares: reg_set_min_max() of kernel/bpf/verifier.c."""

from __future__ import annotations

from functools import lru_cache

from sonde.bpf import instructions as i
from sonde.runtime.verifier.scalar import MASK32, MASK64, ScalarValue, bounded
from sonde.typed import TypeAlias

INVERSE = {
    i.JEQ: i.JNE, i.JNE: i.JEQ, i.JGT: i.JLE, i.JLE: i.JGT, i.JGE: i.JLT, i.JLT: i.JGE, i.JSGT: i.JSLE,
    i.JSLE: i.JSGT, i.JSGE: i.JSLT, i.JSLT: i.JSGE,
}  # fmt: skip
"""The condition that holds where the other does not; JSET has none."""

_NO_BITS = -1
"""Stands for the condition that JSET does not hold."""

Pair: TypeAlias = tuple[ScalarValue, ScalarValue]


def taken(condition: int, a: ScalarValue, b: ScalarValue, bits: int) -> Pair | None:
    """The two if `condition` holds between them, compared in 64 or 32 bits; None if it cannot."""
    return _refined(condition, a, b, bits)


def not_taken(condition: int, a: ScalarValue, b: ScalarValue, bits: int) -> Pair | None:
    """The two if `condition` does not hold; None if it must."""
    return _refined(INVERSE.get(condition, _NO_BITS), a, b, bits)


@lru_cache(4096)
def _refined(condition: int, a: ScalarValue, b: ScalarValue, bits: int) -> Pair | None:
    x, y = list(a), list(b)
    at = 0 if bits == 64 else 4
    if condition in (i.JGT, i.JGE, i.JSGT, i.JSGE):
        feasible = _order(y, x, at + (2 if condition in (i.JSGT, i.JSGE) else 0), condition in (i.JGT, i.JSGT))
    elif condition in (i.JLT, i.JLE, i.JSLT, i.JSLE):
        feasible = _order(x, y, at + (2 if condition in (i.JSLT, i.JSLE) else 0), condition in (i.JLT, i.JSLT))
    elif condition == i.JEQ:
        feasible = _equal(x, y, at)
    elif condition == i.JNE:
        feasible = _different(x, y, at) and _different(y, x, at)
    else:
        feasible = _tested(condition == i.JSET, x, y, MASK64 if bits == 64 else MASK32)
    if not feasible:
        return None
    first, second = bounded(*x), bounded(*y)
    return (first, second) if first is not None and second is not None else None


def _order(low: list[int], high: list[int], at: int, strict: bool) -> bool:
    """low <= high, or low < high; `at` is where the minimum of the kind of number is."""
    low[at + 1] = min(low[at + 1], high[at + 1] - strict)
    high[at] = max(high[at], low[at] + strict)
    return low[at] <= low[at + 1] and high[at] <= high[at + 1]


def _equal(x: list[int], y: list[int], at: int) -> bool:
    for n in (at, at + 2):
        x[n] = y[n] = max(x[n], y[n])
        x[n + 1] = y[n + 1] = min(x[n + 1], y[n + 1])
    compared = MASK64 if at == 0 else MASK32
    known = compared & ~x[9] & ~y[9]
    if (x[8] ^ y[8]) & known:
        return False
    for one, other in ((x, y), (y, x)):
        one[8] |= other[8] & compared & one[9] & ~other[9]
        one[9] &= other[9] | ~compared
    if at == 0:
        for n in range(4, 8, 2):
            x[n] = y[n] = max(x[n], y[n])
            x[n + 1] = y[n + 1] = min(x[n + 1], y[n + 1])
    return x[at] <= x[at + 1] and x[at + 2] <= x[at + 3]


def _different(x: list[int], y: list[int], at: int) -> bool:
    """x is not the number that y is known to be, if it is: it then cannot be an end of a range of x."""
    for n in (at, at + 2):
        if y[n] != y[n + 1]:
            continue
        number = y[n]
        if x[n] == x[n + 1] == number:
            return False
        if x[n] == number:
            x[n] += 1
        elif x[n + 1] == number:
            x[n + 1] -= 1
    return True


def _tested(is_set: bool, x: list[int], y: list[int], compared: int) -> bool:
    """x and y have a bit in common, or none; known of x if y is known."""
    if not is_set:
        if x[8] & y[8] & compared:
            return False
        if not y[9]:
            x[9] &= ~(y[8] & compared)
        return True
    if not (x[8] | x[9]) & (y[8] | y[9]) & compared:
        return False
    bits = y[8] & compared
    if not y[9] & compared and bits & bits - 1 == 0:
        x[8] |= bits
        x[9] &= ~bits
    return True
