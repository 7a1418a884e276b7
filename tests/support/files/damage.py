"""Damage to files for tests that read them: bits that flip, words that are overwritten, and ends that are cut off."""

import random


def damaged(data: bytes, areas: list[tuple[int, int]], chance: random.Random) -> bytes:
    """`data` with up to 64 changes, each in one of the areas (start, size), or, one time in 20, without its end."""
    if chance.random() < 0.05:
        return data[: chance.randrange(len(data))]
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8, 40, 64))):
        start, size = chance.choice(areas)
        at = start + chance.randrange(size)
        if at >= len(changed):
            continue
        if chance.random() < 0.5:
            changed[at] ^= 1 << chance.randrange(8)
        else:
            width = chance.choice((1, 2, 4, 8))
            word = chance.choice((b"\xff", b"\0", b"\x7f", b"\x80", b"\x01")) * width
            changed[at : at + width] = word[: len(changed) - at]
    return bytes(changed)


def changed_at(data: bytearray, at: int, unit: int, words: list[bytes], chance: random.Random) -> None:
    """One change at a place, in units of bytes of which the format is made: a bit, a byte, one of the words, or that
    something is missing there, comes twice, or is cut off."""
    kind = chance.randrange(6)
    if kind == 0:
        data[at] ^= 1 << chance.randrange(8)
    elif kind == 1:
        data[at] = chance.randrange(256)
    elif kind == 2:
        word = chance.choice(words)
        at -= at % min(unit, len(word))
        data[at : at + len(word)] = word
    elif kind == 3:
        del data[at : at + unit * chance.randrange(1, 9)]
    elif kind == 4:
        data[at:at] = data[at : at + unit * chance.randrange(1, 20)]
    else:
        del data[max(at, unit) :]
