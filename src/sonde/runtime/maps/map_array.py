"""Arrays of maps (kernel/bpf/arraymap.c): what is looked up is the inner map itself."""

from __future__ import annotations

import struct
from collections.abc import Callable
from errno import EINVAL

from sonde.model.spec import MapSpec
from sonde.runtime.machine.memory import OFFSET_BITS, OFFSET_MASK, AccessError, MachineMemory
from sonde.runtime.maps.base import ANY, Calls, Map, MapTable

_INDEX = struct.Struct("=I")
_LOW = 0xFFFF_FFFF


class MapArray:
    """Owns its elements, each made by `make`, unless the spec names other maps, which `hold` puts in. Only the engine
    replaces them."""

    handle = 0

    def __init__(self, spec: MapSpec, memory: MachineMemory, table: MapTable, make: Callable[[], Map]) -> None:
        self.spec = spec
        self._table = table
        self._make = make
        self.elements = [make() for _ in range(spec.max_entries)] if spec.elements is None else []
        self._handles = [element.handle for element in self.elements] or [0] * spec.max_entries
        self.calls: Calls = {"map_lookup_elem": self._make_lookup(memory)}

    def _make_lookup(self, memory: MachineMemory) -> Callable[[int], int]:
        regions, handles, count, unpack = memory.regions, self._handles, len(self._handles), _INDEX.unpack_from

        def lookup_at(key: int) -> int:
            try:
                (index,) = unpack(regions[key >> OFFSET_BITS], key & OFFSET_MASK)
            except (KeyError, struct.error):
                raise AccessError(key, 4) from None
            return handles[index] if index < count else 0

        return lookup_at

    def hold(self, index: int, element: Map) -> None:
        """Have another map's handle looked up there."""
        self._handles[index] = element.handle

    def replace(self, index: int) -> list[tuple[bytes, bytes]]:
        """Put an empty map in the place of one; return what that one held at its end."""
        fresh = self._make()
        old, self.elements[index] = self.elements[index], fresh
        self._handles[index] = fresh.handle
        contents = old.items()
        self._table.remove(old)
        return contents

    def lookup(self, key: bytes) -> int:
        (index,) = _INDEX.unpack(key)
        return self._handles[index] if index < len(self._handles) else 0

    def update(self, key: bytes, value: bytes, flags: int = ANY) -> int:
        return -EINVAL

    def items(self) -> list[tuple[bytes, bytes]]:
        """Indexes and, where the kernel shows the inner maps' ids, what tells their handles apart."""
        return [(_INDEX.pack(index), _INDEX.pack(handle & _LOW)) for index, handle in enumerate(self._handles)]

    def close(self) -> None:
        for element in self.elements:
            self._table.remove(element)
        self.elements = []
