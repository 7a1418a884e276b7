"""The memory that programs see: regions with addresses, and nothing between them.

A region is a Python buffer. Its address has the region's number in the upper half and the offset in the lower one, so
an access is one dictionary lookup and one bounded access of `struct`, and no arithmetic on an address can reach what
the program was not given: a step out of a region ends in no region. Numbers begin where no process has
memory, so an address of the traced process never is one of ours.
"""

from __future__ import annotations

from sonde.runtime.machine.faults import AccessError
from sonde.typed import TypeAlias

Buffer: TypeAlias = bytearray | memoryview

OFFSET_BITS = 32
OFFSET_MASK = (1 << OFFSET_BITS) - 1

_FIRST = 0xFFFF_8000
FIRST_ADDRESS = _FIRST << OFFSET_BITS
"""No region has a lower one."""

_NUMBERS = (1 << 15) - 1
"""The last region is none, so that a negative error number is no address, nor what lies just below or above zero."""

__all__ = ["FIRST_ADDRESS", "OFFSET_BITS", "OFFSET_MASK", "AccessError", "Buffer", "MachineMemory"]


class MachineMemory:
    """The regions. `regions` maps `address >> OFFSET_BITS` to a buffer of bytes, a read-only memoryview where programs
    may not write; executions read it directly."""

    def __init__(self) -> None:
        self.regions: dict[int, Buffer] = {}
        self._free: list[int] = []
        self._next = _FIRST

    def add(self, buffer: Buffer) -> int:
        """Give the buffer an address: that of its first byte."""
        if self._free:
            number = self._free.pop()
        elif self._next < _FIRST + _NUMBERS:
            number = self._next
            self._next += 1
        else:
            raise MemoryError("no more regions")
        self.regions[number] = buffer
        return number << OFFSET_BITS

    def remove(self, address: int) -> None:
        """Take the region that begins at this address away."""
        number = address >> OFFSET_BITS
        del self.regions[number]
        self._free.append(number)

    def view(self, address: int, size: int, is_write: bool = False) -> memoryview:
        """`size` bytes at `address`, in place. Raises AccessError."""
        buffer = self.regions.get(address >> OFFSET_BITS)
        offset = address & OFFSET_MASK
        if buffer is None or size < 0 or offset + size > len(buffer):
            raise AccessError(address, size, is_write)
        view = memoryview(buffer)
        if is_write and view.readonly:
            raise AccessError(address, size, is_write)
        return view[offset : offset + size]

    def read(self, address: int, size: int) -> bytes:
        """A copy of `size` bytes at `address`. Raises AccessError."""
        buffer = self.regions.get(address >> OFFSET_BITS)
        offset = address & OFFSET_MASK
        if buffer is None or size < 0 or offset + size > len(buffer):
            raise AccessError(address, size)
        return bytes(buffer[offset : offset + size])

    def write(self, address: int, data: bytes | bytearray | memoryview) -> None:
        """Copy `data` to `address`. Raises AccessError."""
        buffer = self.regions.get(address >> OFFSET_BITS)
        offset = address & OFFSET_MASK
        end = offset + len(data)
        # Without this check an assignment behind the end would make a bytearray longer.
        if buffer is None or end > len(buffer):
            raise AccessError(address, len(data), is_write=True)
        try:
            buffer[offset:end] = data
        except TypeError:
            raise AccessError(address, len(data), is_write=True) from None
