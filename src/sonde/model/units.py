"""Units of time, in nanoseconds, and of memory, in bytes."""

from __future__ import annotations

MICROSECOND, MILLISECOND, SECOND = 10**3, 10**6, 10**9
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86400 * SECOND

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40

WORD = 8
"""Bytes of a register, and what the values of maps, records in rings and memory on a stack are aligned to."""


def whole_words(size: int) -> int:
    """The bytes of the words that so many bytes need."""
    return size + WORD - 1 & -WORD
