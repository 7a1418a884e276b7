"""Where frame descriptions are: the sorted table that linkers put beside .eh_frame for who unwinds (LSB 10.6.2)."""

from __future__ import annotations

from bisect import bisect_right

SECTION = ".eh_frame_hdr"

_VERSION = 1
_FORM = (0x1B, 0x03, 0x3B)
"""The encodings that linkers use: of the section's address, of the number of entries, and of these, which are pairs of
signed numbers of 4 bytes, counted from the table's own address. Of others nothing is looked up."""
_HEADER = 12


def entries(data: bytes) -> int:
    """How many pairs of addresses are in a section's bytes that can be looked up, 0 if they are of another form."""
    is_known = len(data) >= _HEADER and data[0] == _VERSION and tuple(data[1:4]) == _FORM
    count = int.from_bytes(data[8:12], "little") if is_known else 0
    return min(count, max(len(data) - _HEADER, 0) // 8)


class FrameTable:
    """Finds the description of code by its link-time address, in the section's bytes, which are at `address`."""

    def __init__(self, data: bytes, address: int) -> None:
        self._address = address
        count = entries(data)
        numbers = memoryview(data)[_HEADER : _HEADER + 8 * count].cast("i")
        self._starts, self._places = numbers[::2], numbers[1::2]

    def description(self, address: int) -> int | None:
        """The link-time address of the last description whose code begins at or before an address; None if there is
        none. Whether its code reaches as far is not said."""
        found = bisect_right(self._starts, address - self._address)
        return self._address + self._places[found - 1] if found else None
