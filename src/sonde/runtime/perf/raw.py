"""Raw records: what a program adds to a sample, as a chain of fragments (struct perf_raw_record, perf_raw_frag in
include/linux/perf_event.h).

A fragment is linear memory, or data elsewhere with a callback that copies pieces of them: so a packet in many pages
goes into the ring in one copy.
"""

from __future__ import annotations

from collections.abc import Callable

from sonde.model.units import whole_words
from sonde.typed import TypeAlias

Copy: TypeAlias = Callable[[memoryview, int, int], int]
"""`copy(destination, offset, length)` fills the first `length` bytes of `destination` from `offset` of its source;
returns how many of them it could not copy (as perf_copy_f)."""

SIZE_FIELD = 4
"""The u32 size before the data."""


class Fragment:
    """`size` bytes of a raw record: `data` itself, or what `copy` makes.

    `next` is the next fragment, or, in the last one, how many bytes of padding follow.
    """

    __slots__ = ("copy", "data", "next", "size")

    def __init__(
        self, size: int, data: memoryview | None = None, copy: Copy | None = None, next_: Fragment | None = None
    ) -> None:
        self.size = size
        self.data = data
        self.copy = copy
        self.next: Fragment | int = 0 if next_ is None else next_


class RawRecord:
    """A chain of fragments; `size`, which is known after `prepare`, is that of all of them and the padding."""

    __slots__ = ("fragment", "size")

    def __init__(self, fragment: Fragment) -> None:
        self.fragment = fragment
        self.size = 0


def prepare(record: RawRecord) -> None:
    """Compute the size, so that it and the u32 before it are a multiple of 8, and put the padding where the last
    fragment's `next` would be. Done once for a sample, however often its sizes are asked for."""
    fragment, total = record.fragment, record.fragment.size
    while isinstance(fragment.next, Fragment):
        fragment = fragment.next
        total += fragment.size
    record.size = whole_words(total + SIZE_FIELD) - SIZE_FIELD
    fragment.next = record.size - total
