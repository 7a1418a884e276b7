"""Arrays (kernel/bpf/arraymap.c): one value for each index, all there from the beginning."""

from __future__ import annotations

import struct
from collections.abc import Callable
from errno import E2BIG, EEXIST, EINVAL, EPERM

from sonde.bpf import maps
from sonde.model.spec import MapSpec
from sonde.model.units import whole_words
from sonde.runtime.machine.memory import OFFSET_BITS, OFFSET_MASK, AccessError, MachineMemory
from sonde.runtime.maps.base import ANY, EXIST, LOCK, NOEXIST, Calls, allocate, fill, read_only

_INDEX = struct.Struct("=I")


class ArrayMap:
    """An array or, there being one CPU, a per-CPU array. Values lie `stride` bytes apart from `address` on."""

    handle = 0

    def __init__(self, spec: MapSpec, memory: MachineMemory) -> None:
        self.spec = spec
        self.is_frozen = spec.frozen or bool(spec.flags & maps.F_RDONLY)
        self.stride = whole_words(spec.value_size)
        self.buffer = allocate(self.stride * spec.max_entries)
        # The map itself may write what programs may not.
        self.address = memory.add(read_only(self.buffer) if spec.flags & maps.F_RDONLY_PROG else self.buffer)
        self._memory = memory
        self.calls: Calls = {
            "map_lookup_elem": self._make_lookup(),
            "map_update_elem": self._make_update(),
            "map_delete_elem": lambda key: -EINVAL,
        }
        try:
            fill(spec, self._set)
        except BaseException:
            self.close()
            raise

    def _make_lookup(self) -> Callable[[int], int]:
        regions, count, address, stride = self._memory.regions, self.spec.max_entries, self.address, self.stride
        unpack = _INDEX.unpack_from

        def lookup_at(key: int) -> int:
            try:
                (index,) = unpack(regions[key >> OFFSET_BITS], key & OFFSET_MASK)
            except (KeyError, struct.error):
                raise AccessError(key, 4) from None
            return address + index * stride if index < count else 0

        return lookup_at

    def _make_update(self) -> Callable[[int, int, int], int]:
        read, update, size = self._memory.read, self._set, self.spec.value_size

        def update_at(key: int, value: int, flags: int) -> int:
            return update(read(key, 4), read(value, size), flags)

        return update_at

    def lookup(self, key: bytes) -> int:
        (index,) = _INDEX.unpack(key)
        return self.address + index * self.stride if index < self.spec.max_entries else 0

    def update(self, key: bytes, value: bytes, flags: int = ANY) -> int:
        if len(value) < self.spec.value_size:
            raise ValueError(f"values of map {self.spec.name} have {self.spec.value_size} bytes")
        if self.is_frozen:
            return -EPERM
        # The system call asks for that first (map_update_elem, kernel/bpf/syscall.c).
        return -EINVAL if flags & LOCK else self._set(key, value, flags)

    def _set(self, key: bytes, value: bytes, flags: int) -> int:
        (index,) = _INDEX.unpack(key)
        if flags & ~LOCK > EXIST:
            return -EINVAL
        if index >= self.spec.max_entries:
            return -E2BIG
        if flags & NOEXIST:
            return -EEXIST
        if flags & LOCK:
            return -EINVAL
        at = index * self.stride
        self.buffer[at : at + self.spec.value_size] = value[: self.spec.value_size]
        return 0

    def keys(self) -> list[bytes]:
        """In order."""
        return [_INDEX.pack(number) for number in range(self.spec.max_entries)]

    def items(self) -> list[tuple[bytes, bytes]]:
        if self.spec.flags & maps.F_WRONLY:
            raise PermissionError(EPERM, f"map {self.spec.name} can only be written")
        stride, pack = self.stride, _INDEX.pack
        size = stride if self.spec.kind in maps.PER_CPU else self.spec.value_size
        data = bytes(self.buffer)
        return [(pack(n), data[n * stride : n * stride + size]) for n in range(self.spec.max_entries)]

    def close(self) -> None:
        self._memory.remove(self.address)
