"""What a map offers, and the table of a session's maps.

Pointers to values are addresses in `MachineMemory`: a map's values lie in regions of it, and programs load and store
through the address that a lookup gave them. There is one virtual CPU, number 0: a per-CPU map has one value a key.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Mapping

from sonde.model.spec import MapSpec
from sonde.runtime.machine.memory import OFFSET_MASK, Buffer
from sonde.typed import Protocol, TypeAlias

ANY, NOEXIST, EXIST, LOCK = 0, 1, 2, 4
"""Flags of updates (include/uapi/linux/bpf.h)."""

_FIRST_HANDLE = 0xFFFF_7000_0000_0000
"""Where handles begin: outside of any region, so that a program's load through one faults."""

_SMALL = 1 << 16
"""Buffers larger than this come from mmap, whose pages cost nothing before they are used."""

Calls: TypeAlias = Mapping[str, Callable[..., int]]


class Map(Protocol):
    """One map. What is done from outside of programs takes and gives bytes.

    Results are the kernel's: the address of a value or 0, respectively 0 or a negative errno. In a map of maps what is
    looked up is the inner map's handle.
    """

    spec: MapSpec
    handle: int
    calls: Calls
    """What programs do with the map, by the name of the helper, which is called without the handle. Keys and values
    are addresses in Memory; AccessError is raised where they are none."""

    def lookup(self, key: bytes) -> int: ...

    def update(self, key: bytes, value: bytes, flags: int = ANY) -> int:
        """A value's bytes in excess, those of further CPUs, are left out. Raises ValueError for one that is short."""

    def items(self) -> list[tuple[bytes, bytes]]:
        """All keys and values, as they are at this moment; values of a per-CPU map padded to 8 bytes."""

    def close(self) -> None:
        """Take the values out of Memory."""


class MapTable:
    """The maps of a session by handle, and what helpers call by handle without touching the map itself."""

    def __init__(self) -> None:
        self.maps: dict[int, Map] = {}
        self.removing: list[Callable[[Map], None]] = []
        """Called with each map that is taken away."""
        self._calls: dict[str, dict[int, Callable[..., int]]] = {}
        self._next = _FIRST_HANDLE

    def calls(self, helper: str) -> dict[int, Callable[..., int]]:
        """What the helper of that name does, by the handle of the map: always as the maps are."""
        return self._calls.setdefault(helper, {})

    def add(self, made: Map) -> Map:
        """Give the map its handle."""
        handle = made.handle = self._next
        self._next += 1
        self.maps[handle] = made
        for name, function in made.calls.items():
            self.calls(name)[handle] = function
        return made

    def remove(self, made: Map) -> None:
        """Take the map away for good. No program may run that could still use it."""
        if self.maps.pop(made.handle, None) is None:
            # Another map held it, and took it along.
            return
        for name in made.calls:
            del self.calls(name)[made.handle]
        for told in self.removing:
            told(made)
        made.close()
        # They refer to the map, which can go without them.
        made.calls = {}

    def close(self) -> None:
        for made in tuple(self.maps.values()):
            self.remove(made)


class ContentsError(Exception):
    """An element of a map's contents could not be set."""


def fill(spec: MapSpec, update: Callable[[bytes, bytes, int], int]) -> None:
    """Set the contents. Raises ContentsError."""
    for key, value in spec.contents:
        if len(key) != spec.key_size or len(value) < spec.value_size:
            raise ContentsError("an element of its contents has another size")
        result = update(key, value[: spec.value_size], ANY)
        if result:
            raise ContentsError(f"an element of its contents: {os.strerror(-result).lower()}")


def allocate(size: int) -> Buffer:
    """`size` bytes of zeros. Raises MemoryError."""
    if size <= _SMALL:
        return bytearray(size)
    if size > OFFSET_MASK:
        raise MemoryError(f"{size} bytes are more than a region can have")
    try:
        return memoryview(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    except (OSError, OverflowError) as error:
        raise MemoryError(f"cannot have {size} bytes: {error}") from None


def read_only(buffer: Buffer) -> memoryview:
    return memoryview(buffer).toreadonly()
