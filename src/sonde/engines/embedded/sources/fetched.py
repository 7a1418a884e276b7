"""Memory of the traced process that was fetched for a stop, as helpers read it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from errno import EFAULT

from sonde.arch import registers
from sonde.engines.embedded.tracer import plan, stops
from sonde.engines.embedded.tracer.plan import EntryFetch
from sonde.runtime.machine.memory import AccessError
from sonde.typed import TypeAlias

_U64 = 0xFFFF_FFFF_FFFF_FFFF

Piece: TypeAlias = tuple[int, int, bytes]
"""Address, size, and what could be read there of so many bytes."""


class FetchedMemory:
    """`pieces` are those of the stop that programs run for: all that can be read then, as the thread runs on. Without
    any, `read` (thread, address, size) is asked."""

    def __init__(
        self, read: Callable[[int, int, int], bytes], places: memoryview, fetches: Mapping[int, Sequence[EntryFetch]]
    ) -> None:  # fmt: skip
        self.pieces: Sequence[Piece] = ()
        self._read = read
        self._places = places
        self._sites: dict[int, tuple[tuple[int, int, int, int], ...]] = {}
        self._fetches = {
            number: tuple(zip([fetch.argument for fetch in each], [fetch.offset for fetch in each],
                              [fetch.size for fetch in each], plan.offsets(each), strict=False))
            for number, each in fetches.items()
        }  # fmt: skip

    def take(self, number: int, arguments: Sequence[int], lengths: int, place: int) -> None:
        """Find what was fetched for an entry of system call `number` (stops.FETCHED)."""
        start = place * stops.PLACE
        places, found = self._places, []
        for argument, behind, size, offset in self._fetches[number]:
            begin = start + offset
            found.append((arguments[argument] + behind & _U64, size, bytes(places[begin : begin + (lengths & 0xFFFF)])))
            lengths >>= 16
        self.pieces = found

    def know_sites(self, fetches: Mapping[int, Sequence[EntryFetch]]) -> None:
        """What is fetched at the sites of breakpoints, by their numbers."""
        self._sites = {
            number: tuple(
                (fetch.argument, fetch.offset, fetch.size, registers.USER_SIZE + offset)
                for fetch, offset in zip(each, plan.offsets(each), strict=False)
            )
            for number, each in fetches.items()
        }

    def take_at_site(self, number: int, lengths: int, place: int) -> None:
        """Find what was fetched at a breakpoint that is not held (stops.HIT)."""
        start = place * stops.PLACE
        places, found = self._places, []
        for register, behind, size, offset in self._sites.get(number, ()):
            at = start + 8 * register
            address = int.from_bytes(places[at : at + 8], "little") + behind & _U64
            begin = start + offset
            found.append((address, size, bytes(places[begin : begin + (lengths & 0xFFFF)])))
            lengths >>= 16
        self.pieces = found

    def read(self, tid: int, address: int, size: int) -> bytes:
        """Raises OSError."""
        if not self.pieces:
            return self._read(tid, address, size)
        for first, most, data in self.pieces:
            offset = address - first
            if offset >= 0 and offset + size <= most:
                if offset + size > len(data):
                    raise OSError(EFAULT, os.strerror(EFAULT))
                return data[offset : offset + size]
        raise AccessError(address, size)
