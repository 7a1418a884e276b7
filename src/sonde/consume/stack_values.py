"""How stacks become values (`consume/stacks.py`)."""

from __future__ import annotations

from array import array

from sonde.consume.stacks import ADDRESS

_ZERO = bytes(ADDRESS)


def stack_value(data: bytes) -> bytes:
    """The value of little-endian u64 addresses, which end at the first zero."""
    return _big_endian(data, _end(data, 0))


def user_stack_value(data: bytes) -> bytes:
    """The value of the number of a process and addresses behind it."""
    return _big_endian(data, _end(data, ADDRESS))


def _end(data: bytes, start: int) -> int:
    """Where the first address is that is zero, from `start` on."""
    place = data.find(_ZERO, start)
    while place >= 0:
        aligned = place + ADDRESS - 1 & -ADDRESS
        if data.startswith(_ZERO, aligned):
            return aligned
        # Zeros of two addresses that are none.
        place = data.find(_ZERO, aligned)
    return len(data) & -ADDRESS


def swapped(data: bytes) -> bytes:
    """Words in the other order of bytes."""
    words = array("Q", data)
    words.byteswap()
    return words.tobytes()


def _big_endian(data: bytes, end: int) -> bytes:
    return swapped(data[:end])
