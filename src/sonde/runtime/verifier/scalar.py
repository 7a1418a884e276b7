"""Numbers in registers: their known bits and their ranges, as unsigned and signed 64- and 32-bit numbers.

A `ScalarValue` is a value: it is never changed, so states share them. `bounded` is the one place where what is known in
one form is carried over to the others.
"""

from __future__ import annotations

from functools import lru_cache

from sonde.runtime.verifier import tnum
from sonde.typed import NamedTuple

MASK64 = (1 << 64) - 1
MASK32 = (1 << 32) - 1
SIGN64 = 1 << 63
SIGN32 = 1 << 31
MAX64, MIN64 = SIGN64 - 1, -SIGN64
MAX32, MIN32 = SIGN32 - 1, -SIGN32


class ScalarValue(NamedTuple):
    """Bounds are inclusive. `value` and `mask` are a tristate number. Scalars with the same `id`, other than 0, are
    copies of one number: a comparison of one tells of all."""

    umin: int
    umax: int
    smin: int
    smax: int
    umin32: int
    umax32: int
    smin32: int
    smax32: int
    value: int
    mask: int
    id: int = 0


UNKNOWN = ScalarValue(0, MASK64, MIN64, MAX64, 0, MASK32, MIN32, MAX32, 0, MASK64)


def signed64(number: int) -> int:
    """An unsigned 64-bit number read as a signed one."""
    return number - (1 << 64) if number & SIGN64 else number


def signed32(number: int) -> int:
    """An unsigned 32-bit number read as a signed one."""
    return number - (1 << 32) if number & SIGN32 else number


@lru_cache(4096)
def constant(number: int) -> ScalarValue:
    """The number, of which only the low 64 bits count."""
    number &= MASK64
    signed, low = signed64(number), number & MASK32
    signed_low = signed32(low)
    return ScalarValue(number, number, signed, signed, low, low, signed_low, signed_low, number, 0)


ZERO = constant(0)


def bounded(
    umin: int, umax: int, smin: int, smax: int, umin32: int, umax32: int, smin32: int, smax32: int,
    value: int, mask: int, identity: int = 0,
) -> ScalarValue | None:  # fmt: skip
    """The scalar for which all that holds, each form as narrow as the others make it; None if there is no such number.

    The rules are those of reg_bounds_sync() in kernel/bpf/verifier.c. What one rule finds another may need, so they
    are applied until nothing changes, at most three times.
    """
    for _ in range(3):
        before = umin, umax, smin, smax, umin32, umax32, smin32, smax32, mask
        # Known bits to ranges.
        high = value | mask
        if value > umin:
            umin = value
        if high < umax:
            umax = high
        low32, high32 = value & MASK32, high & MASK32
        if low32 > umin32:
            umin32 = low32
        if high32 < umax32:
            umax32 = high32
        smin = max(smin, signed64(value | mask & SIGN64))
        smax = min(smax, signed64(high & ~(mask & SIGN64)))
        smin32 = max(smin32, signed32(low32 | mask & SIGN32))
        smax32 = min(smax32, signed32(high32 & ~(mask & SIGN32)))
        umin32, umax32, smin32, smax32 = _low_words(umin, umax, smin, smax, umin32, umax32, smin32, smax32)
        # Unsigned and signed.
        umin32, umax32, smin32, smax32 = _cross(umin32, umax32, smin32, smax32, SIGN32, MASK32)
        umin, umax, smin, smax = _cross(umin, umax, smin, smax, SIGN64, MASK64)
        # 32-bit ranges to 64-bit ones.
        umin = max(umin, umin & ~MASK32 | umin32)
        umax = min(umax, umax & ~MASK32 | umax32)
        smin = max(smin, smin & ~MASK32 | umin32)
        smax = min(smax, smax & ~MASK32 | umax32)
        if smin >= MIN32 and smax <= MAX32:
            smin, smax = max(smin, smin32), min(smax, smax32)
        if umin > umax or smin > smax or umin32 > umax32 or smin32 > smax32:
            return None
        if mask:
            known = _known_bits(umin, umax, umin32, umax32, value, mask)
            if known is None:
                return None
            value, mask = known
        if before == (umin, umax, smin, smax, umin32, umax32, smin32, smax32, mask):
            break
    return ScalarValue(umin, umax, smin, smax, umin32, umax32, smin32, smax32, value, mask, identity)


def _low_words(
    umin: int, umax: int, smin: int, smax: int, umin32: int, umax32: int, smin32: int, smax32: int
) -> tuple[int, int, int, int]:
    """The 32-bit ranges by the 64-bit ones: where the upper halves are the same the lower ones are in order."""
    if umin >> 32 == umax >> 32:
        umin32, umax32 = max(umin32, umin & MASK32), min(umax32, umax & MASK32)
    if smin >> 32 == smax >> 32:
        umin32, umax32 = max(umin32, smin & MASK32), min(umax32, smax & MASK32)
    if umin & MASK32 <= umax & MASK32 and umin >> 31 == umax >> 31:
        smin32, smax32 = max(smin32, signed32(umin & MASK32)), min(smax32, signed32(umax & MASK32))
    if smin >> 31 == smax >> 31:
        smin32, smax32 = max(smin32, signed32(smin & MASK32)), min(smax32, signed32(smax & MASK32))
    if smin >= MIN32 and smax <= MAX32:
        smin32, smax32 = max(smin32, smin), min(smax32, smax)
    return umin32, umax32, smin32, smax32


def _known_bits(umin: int, umax: int, umin32: int, umax32: int, value: int, mask: int) -> tnum.Tnum | None:
    """The bits that are known with the unsigned ranges, None if these contradict them."""
    known = tnum.intersect(value, mask, *tnum.in_range(umin, umax))
    if known is None:
        return None
    low_value, low_mask = tnum.in_range(umin32, umax32)
    return tnum.intersect(*known, low_value, low_mask | MASK64 ^ MASK32)


def _cross(umin: int, umax: int, smin: int, smax: int, sign: int, ones: int) -> tuple[int, int, int, int]:
    """Ranges of one number as unsigned and as signed, each narrowed by the other; `sign` is the highest bit.

    Where a range does not cross the point at which its order and the other's part, its ends are ends of the other.
    Where it does, the other range may lie on one side only of that point.
    """
    if (umin ^ umax) & sign == 0:
        low, high = (umin, umax) if umin < sign else (umin - 2 * sign, umax - 2 * sign)
        smin, smax = max(smin, low), min(smax, high)
    elif umin <= umax:
        if smax < umin:
            # Not in the non-negative part: in the negative one, which ends at umax.
            smax = min(smax, umax - 2 * sign)
        elif smin > umax - 2 * sign:
            smin = max(smin, umin)
    if smin >= 0 or smax < 0:
        low, high = smin & ones, smax & ones
        umin, umax = max(umin, low), min(umax, high)
    elif smin <= smax:
        if umax < smin & ones:
            umax = min(umax, smax)
        elif umin > smax:
            umin = max(umin, smin & ones)
    return umin, umax, smin, smax


def unsigned(bits: int) -> ScalarValue:
    """Any number of so many bits, the ones above them 0: what a load of so many bits gives."""
    return _UNSIGNED[bits]


def _unsigned(bits: int) -> ScalarValue:
    high = (1 << bits) - 1
    made = bounded(0, high, MIN64, MAX64, 0, MASK32, MIN32, MAX32, 0, high)
    assert made is not None
    return made


_UNSIGNED = {bits: _unsigned(bits) for bits in (8, 16, 32, 64)}


@lru_cache(256)
def between(low: int, high: int) -> ScalarValue:
    """Any number low ... high, as signed numbers."""
    made = bounded(0, MASK64, low, high, 0, MASK32, MIN32, MAX32, 0, MASK64)
    assert made is not None
    return made


def within(old: ScalarValue, new: ScalarValue) -> bool:
    """Whether every number of `new` is one of `old`, as far as the bounds tell."""
    return (
        old.umin <= new.umin and new.umax <= old.umax and old.smin <= new.smin and new.smax <= old.smax
        and old.umin32 <= new.umin32 and new.umax32 <= old.umax32
        and old.smin32 <= new.smin32 and new.smax32 <= old.smax32
        and not new.mask & ~old.mask and new.value & ~old.mask == old.value
    )  # fmt: skip


def with_id(scalar: ScalarValue, identity: int) -> ScalarValue:
    """The same number, as one of the copies `identity`."""
    return ScalarValue._make((*scalar[:10], identity))
