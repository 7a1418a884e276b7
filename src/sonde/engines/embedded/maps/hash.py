"""Hash maps (kernel/bpf/hashtab.c)."""

from __future__ import annotations

from collections.abc import Callable
from errno import E2BIG, EEXIST, EINVAL, ENOENT
from struct import Struct
from struct import error as StructError  # noqa: N812 - a class

from sonde.bpf import maps
from sonde.engines.embedded.machine.memory import OFFSET_BITS, OFFSET_MASK, AccessError, Memory
from sonde.engines.embedded.maps.base import ANY, EXIST, NOEXIST, rounded
from sonde.engines.embedded.maps.slots import Slots
from sonde.spec import MapSpec


class Hash:
    """A hash or, there being one CPU, a per-CPU hash.

    An update of an element that exists puts a fresh value in its place, as the kernel does, so that a pointer that was
    looked up before goes on seeing the old one; values of a per-CPU hash are written in place.
    """

    handle = 0

    def __init__(self, spec: MapSpec, memory: Memory) -> None:
        self.spec = spec
        self.per_cpu = spec.kind in maps.PER_CPU
        self._memory = memory
        self._values: dict[bytes, int] = {}
        self._slots = Slots(memory, spec.value_size, spec.max_entries + 1)
        self.lookup_at = self._make_lookup()
        self.update_at = self._make_update()
        self.delete_at = self._make_delete()

    def _make_lookup(self) -> Callable[[int], int]:
        regions, get, size = self._memory.regions, self._values.get, self.spec.key_size
        unpack = Struct(f"{size}s").unpack_from

        def lookup_at(key: int) -> int:
            try:
                (found,) = unpack(regions[key >> OFFSET_BITS], key & OFFSET_MASK)
            except (KeyError, StructError):
                raise AccessError(key, size) from None
            return get(found, 0)

        return lookup_at

    def _make_update(self) -> Callable[[int, int, int], int]:
        read, update, key_size, value_size = self._memory.read, self.update, self.spec.key_size, self.spec.value_size

        def update_at(key: int, value: int, flags: int) -> int:
            return update(read(key, key_size), read(value, value_size), flags)

        return update_at

    def _make_delete(self) -> Callable[[int], int]:
        read, delete, size = self._memory.read, self.delete, self.spec.key_size

        def delete_at(key: int) -> int:
            return delete(read(key, size))

        return delete_at

    def lookup(self, key: bytes) -> int:
        return self._values.get(key, 0)

    def update(self, key: bytes, value: bytes, flags: int = ANY) -> int:
        if flags > EXIST:
            return -EINVAL
        old = self._values.get(key)
        if old is None:
            if flags == EXIST:
                return -ENOENT
            if len(self._values) >= self.spec.max_entries:
                return -E2BIG
        elif flags == NOEXIST:
            return -EEXIST
        slots = self._slots
        address = old if old is not None and self.per_cpu else slots.take()
        slots.write(address, value[: self.spec.value_size])
        self._values[key] = address
        if old is not None and old != address:
            slots.give_back(old)
        return 0

    def delete(self, key: bytes) -> int:
        address = self._values.pop(key, None)
        if address is None:
            return -ENOENT
        self._slots.give_back(address)
        return 0

    def items(self) -> list[tuple[bytes, bytes]]:
        size = rounded(self.spec.value_size) if self.per_cpu else self.spec.value_size
        read = self._slots.read
        return [(key, read(address, size)) for key, address in self._values.items()]

    def close(self) -> None:
        self._slots.close()
