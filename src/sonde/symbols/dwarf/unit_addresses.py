"""Which units have code at an address, by the ranges that something tells of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate
from operator import itemgetter

Range = tuple[int, int, int]
"""The link-time addresses `start` to `end` are code of the unit at an offset of .debug_info."""

_FEW = 3
"""Questions that are answered by going through all ranges: sorting them pays for more."""


class UnitAddresses:
    """`read` gives all ranges, in any order; they may overlap."""

    def __init__(self, read: Callable[[], Iterable[Range]]) -> None:
        self._read = read
        self._asked = 0
        self._sorted: list[Range] = []
        self._reach: list[int] = []

    def units(self, address: int) -> list[int]:
        """The offsets of the units, each once."""
        self._asked += 1
        if self._asked <= _FEW:
            return list(dict.fromkeys(unit for start, end, unit in self._read() if start <= address < end))
        if self._asked == _FEW + 1:
            self._sorted = sorted(self._read())
            # How far up a range and those before it reach: behind that none of them is looked at.
            self._reach = list(accumulate((end for _, end, _ in self._sorted), max))
        found: list[int] = []
        index = bisect_right(self._sorted, address, key=itemgetter(0)) - 1
        while index >= 0 and self._reach[index] > address:
            _, end, unit = self._sorted[index]
            if address < end and unit not in found:
                found.append(unit)
            index -= 1
        return found
