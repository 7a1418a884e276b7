"""The kernel's hash of u32 words (include/linux/jhash.h, after Bob Jenkins' lookup3)."""

from __future__ import annotations

from struct import unpack

_M = 0xFFFF_FFFF
_MIX = (4, 6, 8, 16, 19, 4)
_FINAL = (14, 11, 25, 16, 4, 14, 24)


def _rotated(word: int, count: int) -> int:
    return (word << count | word >> 32 - count) & _M


def jhash2(data: bytes, initial: int = 0) -> int:
    """Of whole u32 words in the machine's order."""
    words: tuple[int, ...] = unpack(f"={len(data) // 4}I", data)
    a = b = c = 0xDEAD_BEEF + len(data) + initial & _M
    at, left = 0, len(words)
    while left > 3:
        a, b, c = a + words[at] & _M, b + words[at + 1] & _M, c + words[at + 2] & _M
        for count in _MIX:
            a, b, c = (a - c & _M) ^ _rotated(c, count), b, c + b & _M
            # The next round has the words one place on.
            a, b, c = b, c, a
        at, left = at + 3, left - 3
    if not left:
        return c
    a, b, c = (x + y & _M for x, y in zip((a, b, c), (*words[at:], 0, 0, 0), strict=False))
    for count in _FINAL:
        c = (c ^ b) - _rotated(b, count) & _M
        a, b, c = b, c, a
    # Seven rounds are one more than twice around.
    return b
