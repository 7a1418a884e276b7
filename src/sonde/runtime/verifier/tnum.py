"""Tristate numbers: what is known of each bit of a 64-bit number (Documentation/bpf/verifier.rst, kernel/bpf/tnum.c).

A tristate number is a pair (value, mask): a bit of `mask` is set where the bit is not known, and `value` has the known
bits and 0 for the others. Sums and differences follow Vishwanathan et al., "Sound, Precise, and Fast Abstract
Interpretation with Tristate Numbers" (CGO 2022).
"""

from __future__ import annotations

from sonde.typed import TypeAlias

MASK64 = (1 << 64) - 1

Tnum: TypeAlias = tuple[int, int]

UNKNOWN: Tnum = (0, MASK64)


def in_range(low: int, high: int) -> Tnum:
    """The bits that all of the numbers low ... high have in common."""
    differing = low ^ high
    mask = (1 << differing.bit_length()) - 1
    return low & ~mask, mask


def intersect(a_value: int, a_mask: int, b_value: int, b_mask: int) -> Tnum | None:
    """What is known if both hold; None if they contradict each other."""
    if (a_value ^ b_value) & ~a_mask & ~b_mask:
        return None
    mask = a_mask & b_mask
    return (a_value | b_value) & ~mask, mask


def add(a_value: int, a_mask: int, b_value: int, b_mask: int) -> Tnum:
    """a + b, modulo 2**64 (tnum_add())."""
    values = a_value + b_value
    masks = a_mask + b_mask
    unknown = (values + masks ^ values) | a_mask | b_mask
    return values & ~unknown & MASK64, unknown & MASK64


def subtract(a_value: int, a_mask: int, b_value: int, b_mask: int) -> Tnum:
    """a - b, modulo 2**64 (tnum_sub())."""
    difference = a_value - b_value
    unknown = (difference + a_mask ^ difference - b_mask) | a_mask | b_mask
    return difference & ~unknown & MASK64, unknown & MASK64


def conjunction(a_value: int, a_mask: int, b_value: int, b_mask: int) -> Tnum:
    """a & b (tnum_and())."""
    value = a_value & b_value
    return value, (a_value | a_mask) & (b_value | b_mask) & ~value


def disjunction(a_value: int, a_mask: int, b_value: int, b_mask: int) -> Tnum:
    """a | b (tnum_or())."""
    value = a_value | b_value
    return value, (a_mask | b_mask) & ~value


def exclusive(a_value: int, a_mask: int, b_value: int, b_mask: int) -> Tnum:
    """a ^ b (tnum_xor())."""
    mask = a_mask | b_mask
    return (a_value ^ b_value) & ~mask, mask


def multiply(a_value: int, a_mask: int, b_value: int, b_mask: int) -> Tnum:
    """The long multiplication, one bit of `a` after the other."""
    known = a_value * b_value & MASK64
    unknown = 0
    collected: Tnum = (0, 0)
    while a_value or a_mask:
        if a_value & 1:
            unknown = b_mask
        elif a_mask & 1:
            unknown = b_value | b_mask
        else:
            unknown = 0
        if unknown:
            collected = add(*collected, 0, unknown)
        a_value, a_mask = a_value >> 1, a_mask >> 1
        b_value, b_mask = b_value << 1 & MASK64, b_mask << 1 & MASK64
    return add(known, 0, *collected)
