"""Stacks as values: big-endian u64 addresses one behind the other, the innermost first, so that stacks compare as
their addresses do. In the stack of a process its number comes before them, in the same form.

Tables have tens of thousands of stacks, most of whose frames nobody looks at one by one: as bytes they are made,
compared and looked up in one step each.
"""

from __future__ import annotations

import struct

ADDRESS = 8
"""Bytes of an address."""


def addresses(value: bytes) -> tuple[int, ...]:
    """The numbers in a value, in a process's stack the process among them."""
    return struct.unpack(f">{len(value) // ADDRESS}Q", value)


def process_of(value: bytes) -> int:
    """The process whose stack it is."""
    return int.from_bytes(value[:ADDRESS], "big")
