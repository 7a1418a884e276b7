"""Slots of one size for the values of a map whose elements come and go.

A slot given back keeps its place in Memory and is given out again, so a pointer to a deleted value never leaves the map
it came from, as with the kernel's preallocated elements (kernel/bpf/hashtab.c).
"""

from __future__ import annotations

from collections.abc import Iterable

from sonde.model.units import whole_words
from sonde.runtime.machine.memory import OFFSET_BITS, OFFSET_MASK, Buffer, MachineMemory
from sonde.runtime.maps.base import allocate, read_only

_LARGEST_REGION = 1 << 26


class Slots:
    """`take` gives the address of a slot, whose bytes are whatever was left there. It raises MemoryError."""

    def __init__(self, memory: MachineMemory, size: int, count: int, is_read_only: bool = False) -> None:
        """Room for `count` slots of `size` bytes, or a part of it if that is much, is in each region; another region is
        added when all are taken. Programs may not write to them if `is_read_only`."""
        self._memory = memory
        self._is_read_only = is_read_only
        self._stride = whole_words(size)
        self._count = min(count, max(1, _LARGEST_REGION // self._stride))
        self._free: list[int] = []
        self._next = self._end = 0
        self.buffers: dict[int, Buffer] = {}
        """By region number, for reading and writing."""

    def take(self) -> int:
        if self._free:
            return self._free.pop()
        if self._next == self._end:
            buffer = allocate(self._stride * self._count)
            self._next = self._memory.add(read_only(buffer) if self._is_read_only else buffer)
            self._end = self._next + self._stride * self._count
            self.buffers[self._next >> OFFSET_BITS] = buffer
        address = self._next
        self._next += self._stride
        return address

    def give_back(self, address: int) -> None:
        self._free.append(address)

    def read(self, address: int, size: int) -> bytes:
        offset = address & OFFSET_MASK
        return bytes(self.buffers[address >> OFFSET_BITS][offset : offset + size])

    def read_all(self, addresses: Iterable[int], size: int) -> list[bytes]:
        """Copies of the first `size` bytes of many slots."""
        views = {number: memoryview(buffer) for number, buffer in self.buffers.items()}
        return [
            views[address >> OFFSET_BITS][(offset := address & OFFSET_MASK) : offset + size].tobytes()
            for address in addresses
        ]

    def write(self, address: int, value: bytes) -> None:
        offset = address & OFFSET_MASK
        self.buffers[address >> OFFSET_BITS][offset : offset + len(value)] = value

    def close(self) -> None:
        for number in self.buffers:
            self._memory.remove(number << OFFSET_BITS)
        self.buffers = {}
