"""Stacks as values: big-endian u64 addresses one behind the other, the innermost first, so that stacks compare as
their addresses do. In the stack of a process its number comes before them, in the same form.

Tables have tens of thousands of stacks, most of whose frames nobody looks at one by one: as bytes they are made,
compared and looked up in one step each.
"""

from __future__ import annotations

import struct
from array import array

ADDRESS = 8
"""Bytes of an address."""

_ZERO = bytes(ADDRESS)


def stack_value(data: bytes) -> bytes:
    """The value of little-endian u64 addresses, which end at the first zero."""
    return _big_endian(data, _end(data, 0))


def user_stack_value(data: bytes) -> bytes:
    """The value of the number of a process and addresses behind it."""
    return _big_endian(data, _end(data, ADDRESS))


def addresses(value: bytes) -> tuple[int, ...]:
    """The numbers in a value, in a process's stack the process among them."""
    return struct.unpack(f">{len(value) // ADDRESS}Q", value)


def process_of(value: bytes) -> int:
    """The process whose stack it is."""
    return int.from_bytes(value[:ADDRESS], "big")


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


def _big_endian(data: bytes, end: int) -> bytes:
    words = array("Q", data[:end])
    words.byteswap()
    return words.tobytes()
