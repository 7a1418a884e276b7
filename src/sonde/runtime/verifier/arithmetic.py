"""What arithmetic does to scalars: adjust_scalar_min_max_vals() of kernel/bpf/verifier.c, one operation a function.

As much is found out as the kernel finds out, and no more: what is accepted here should be accepted there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from sonde.bpf import instructions as i
from sonde.runtime.verifier import tnum
from sonde.runtime.verifier.scalar import (
    MASK32,
    MASK64,
    MAX32,
    MAX64,
    MIN32,
    MIN64,
    UNKNOWN,
    ScalarValue,
    bounded,
    constant,
    signed32,
    signed64,
    unsigned,
)
from sonde.typed import TypeAlias

Ranges: TypeAlias = tuple[int, int, int, int]
"""Minimum and maximum as unsigned, minimum and maximum as signed numbers."""


@lru_cache(4096)
def compute(operation: int, a: ScalarValue, b: ScalarValue, bits: int) -> ScalarValue:
    """a `operation` b, both without ids, in 64 or 32 bits; the upper half of a 32-bit result is 0.

    Of a quotient nothing is known, nor of a number shifted by one that is not known, or too large.
    """
    if operation in (i.LSH, i.RSH, i.ARSH):
        if b.mask or b.value >= bits:
            return UNKNOWN
    elif operation not in _ABSTRACT:
        return UNKNOWN
    if bits == 32:
        a, b = low_word(a), low_word(b)
    if not a.mask and not b.mask:
        return constant(_CONCRETE[operation](a.value, b.value, bits))
    result = _ABSTRACT[operation](a, b) if operation in _ABSTRACT else _shift(operation, a, b.value, bits)
    return low_word(result) if bits == 32 else result


@lru_cache(4096)
def low_word(a: ScalarValue) -> ScalarValue:
    """The lower 32 bits, the upper ones 0."""
    if a.umax <= MASK32:
        return a._replace(id=0) if a.id else a
    return _made((a.umin32, a.umax32, MIN64, MAX64), a[4:8], a.value & MASK32, a.mask & MASK32)


@lru_cache(1024)
def low_bytes(a: ScalarValue, size: int) -> ScalarValue:
    """The lowest `size` bytes, zeros above them."""
    if size == 8:
        return a._replace(id=0) if a.id else a
    if size == 4:
        return low_word(a)
    high = (1 << 8 * size) - 1
    if a.umax <= high:
        return a._replace(id=0) if a.id else a
    return _made((0, high, MIN64, MAX64), _ANY32, a.value & high, a.mask & high)


@lru_cache(1024)
def sign_extended(a: ScalarValue, size: int, bits: int) -> ScalarValue:
    """The lowest `size` bytes with their sign in all the bits above, up to `bits`."""
    width = 8 * size
    low, high = -(1 << width - 1), (1 << width - 1) - 1
    if not a.mask:
        result = constant((a.value & (1 << width) - 1 ^ 1 << width - 1) - (1 << width - 1))
    elif low <= a.smin and a.smax <= high:
        result = a._replace(id=0)
    elif size == 4:
        result = _made((0, MASK64, a.smin32, a.smax32), a[4:8], 0, MASK64)
    else:
        result = _made((0, MASK64, low, high), _ANY32, 0, MASK64)
    return low_word(result) if bits == 32 else result


def negated(a: ScalarValue, bits: int) -> ScalarValue:
    """-a in 64 or 32 bits; the upper half of a 32-bit result is 0."""
    return compute(i.SUB, constant(0), a, bits)


def swapped(opcode: int, a: ScalarValue, bits: int) -> ScalarValue:
    """The byte swap of an END instruction with that opcode, as little-endian machines do it."""
    if opcode & 7 != i.ALU64 and not opcode & i.X:
        return low_bytes(a, bits // 8)
    value, mask = _reversed(a.value, bits), _reversed(a.mask, bits)
    return _made((0, MASK64, MIN64, MAX64), _ANY32, value, mask)


def _reversed(number: int, bits: int) -> int:
    size = bits // 8
    return int.from_bytes((number & (1 << bits) - 1).to_bytes(size, "little"), "big")


_ANY32: Ranges = (0, MASK32, MIN32, MAX32)


def _made(wide: tuple[int, ...], narrow: tuple[int, ...], value: int, mask: int) -> ScalarValue:
    umin, umax, smin, smax = wide
    umin32, umax32, smin32, smax32 = narrow
    made = bounded(umin, umax, smin, smax, umin32, umax32, smin32, smax32, value, mask)
    # Bounds that contradict each other belong to code that cannot run.
    return made if made is not None else UNKNOWN


def _added(a: tuple[int, ...], b: tuple[int, ...], sign: int) -> Ranges:
    """The range of a sum; if only one end of it overflows it is everything."""
    ones, low, high = 2 * sign - 1, a[0] + b[0], a[1] + b[1]
    umin, umax = (low & ones, high & ones) if (low > ones) == (high > ones) else (0, ones)
    low, high = a[2] + b[2], a[3] + b[3]
    return umin, umax, *_signed_or_any(low, high, sign)


def _subtracted(a: tuple[int, ...], b: tuple[int, ...], sign: int) -> Ranges:
    ones, low, high = 2 * sign - 1, a[0] - b[1], a[1] - b[0]
    umin, umax = (low & ones, high & ones) if (low < 0) == (high < 0) else (0, ones)
    low, high = a[2] - b[3], a[3] - b[2]
    return umin, umax, *_signed_or_any(low, high, sign)


def _signed_or_any(low: int, high: int, sign: int) -> tuple[int, int]:
    if low >= -sign and high < sign:
        return low, high
    if low >= sign or high < -sign:
        shift = -2 * sign if low >= sign else 2 * sign
        return (low + shift, high + shift) if -sign <= low + shift and high + shift < sign else (-sign, sign - 1)
    return -sign, sign - 1


def _multiplied(a: tuple[int, ...], b: tuple[int, ...], sign: int) -> Ranges:
    ones = 2 * sign - 1
    umin, umax = (a[0] * b[0], a[1] * b[1]) if a[1] * b[1] <= ones else (0, ones)
    products = (a[2] * b[2], a[2] * b[3], a[3] * b[2], a[3] * b[3])
    smin, smax = min(products), max(products)
    return (umin, umax, smin, smax) if -sign <= smin and smax < sign else (umin, umax, -sign, sign - 1)


def _by_ranges(
    ranges: Callable[[tuple[int, ...], tuple[int, ...], int], Ranges], bits: Callable[[int, int, int, int], tnum.Tnum]
) -> Callable[[ScalarValue, ScalarValue], ScalarValue]:
    def operate(a: ScalarValue, b: ScalarValue) -> ScalarValue:
        wide, narrow = ranges(a[:4], b[:4], 1 << 63), ranges(a[4:8], b[4:8], 1 << 31)
        return _made(wide, narrow, *bits(a.value, a.mask, b.value, b.mask))

    return operate


def _and(a: ScalarValue, b: ScalarValue) -> ScalarValue:
    value, mask = tnum.conjunction(a.value, a.mask, b.value, b.mask)
    wide = (0, min(a.umax, b.umax), MIN64, MAX64)
    return _made(wide, (0, min(a.umax32, b.umax32), MIN32, MAX32), value, mask)


def _or(a: ScalarValue, b: ScalarValue) -> ScalarValue:
    value, mask = tnum.disjunction(a.value, a.mask, b.value, b.mask)
    wide = (max(a.umin, b.umin), MASK64, MIN64, MAX64)
    return _made(wide, (max(a.umin32, b.umin32), MASK32, MIN32, MAX32), value, mask)


def _xor(a: ScalarValue, b: ScalarValue) -> ScalarValue:
    value, mask = tnum.exclusive(a.value, a.mask, b.value, b.mask)
    return _made((0, MASK64, MIN64, MAX64), _ANY32, value, mask)


_ABSTRACT: dict[int, Callable[[ScalarValue, ScalarValue], ScalarValue]] = {
    i.ADD: _by_ranges(_added, tnum.add), i.SUB: _by_ranges(_subtracted, tnum.subtract),
    i.MUL: _by_ranges(_multiplied, tnum.multiply), i.AND: _and, i.OR: _or, i.XOR: _xor,
}  # fmt: skip


def _shift(operation: int, a: ScalarValue, by: int, bits: int) -> ScalarValue:
    if operation == i.LSH:
        return _left(a, by)
    if operation == i.RSH:
        return _made((a.umin >> by, a.umax >> by, MIN64, MAX64), _ANY32, a.value >> by, a.mask >> by)
    return _arithmetic_right(a, by, bits)


def _left(a: ScalarValue, by: int) -> ScalarValue:
    wide = (a.umin << by, a.umax << by) if a.umax << by <= MASK64 else (0, MASK64)
    narrow = (a.umin32 << by, a.umax32 << by) if a.umax32 << by <= MASK32 else (0, MASK32)
    smin, smax = a.smin << by, a.smax << by
    signs = (smin, smax) if smin >= MIN64 and smax <= MAX64 else (MIN64, MAX64)
    return _made((*wide, *signs), (*narrow, MIN32, MAX32), a.value << by & MASK64, a.mask << by & MASK64)


def _arithmetic_right(a: ScalarValue, by: int, bits: int) -> ScalarValue:
    if bits == 32:
        value, mask = signed32(a.value & MASK32) >> by & MASK32, signed32(a.mask & MASK32) >> by & MASK32
        narrow = (0, MASK32, a.smin32 >> by, a.smax32 >> by)
        return _made((0, MASK32, MIN64, MAX64), narrow, value, mask)
    value, mask = signed64(a.value) >> by & MASK64, signed64(a.mask) >> by & MASK64
    return _made((0, MASK64, a.smin >> by, a.smax >> by), _ANY32, value & ~mask, mask)


def _signed(number: int, bits: int) -> int:
    return signed64(number) if bits == 64 else signed32(number)


def _mask(bits: int) -> int:
    return MASK64 if bits == 64 else MASK32


_CONCRETE: dict[int, Callable[[int, int, int], int]] = {
    i.ADD: lambda a, b, bits: a + b & _mask(bits),
    i.SUB: lambda a, b, bits: a - b & _mask(bits),
    i.MUL: lambda a, b, bits: a * b & _mask(bits),
    i.AND: lambda a, b, bits: a & b,
    i.OR: lambda a, b, bits: a | b,
    i.XOR: lambda a, b, bits: a ^ b,
    i.LSH: lambda a, b, bits: a << b & _mask(bits),
    i.RSH: lambda a, b, bits: a >> b,
    i.ARSH: lambda a, b, bits: _signed(a, bits) >> b & _mask(bits),
}


def loaded(size: int, is_signed: bool) -> ScalarValue:
    """What a load of so many bytes of unknown content gives."""
    return sign_extended(unsigned(8 * size), size, 64) if is_signed and size < 8 else unsigned(8 * size)
