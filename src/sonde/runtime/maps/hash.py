"""Hash maps (kernel/bpf/hashtab.c); the LRU ones, when they are full, forget what was not used for longest."""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Callable
from errno import E2BIG, EEXIST, EINVAL, ENOENT, ENOMEM, EPERM

from sonde.bpf import maps
from sonde.model.spec import MapSpec
from sonde.model.units import whole_words
from sonde.runtime.machine.memory import OFFSET_BITS, OFFSET_MASK, AccessError, MachineMemory
from sonde.runtime.maps.base import ANY, EXIST, NOEXIST, Calls, fill
from sonde.runtime.maps.slots import Slots


class Hash:
    """A hash or, there being one CPU, a per-CPU hash.

    An update of an element that exists puts a fresh value in its place, as the kernel does, so that a pointer that was
    looked up before goes on seeing the old one; values of a per-CPU hash are written in place. A value counts as used
    when a program looks it up or it is updated, not when it is read from outside.
    """

    handle = 0

    def __init__(self, spec: MapSpec, memory: MachineMemory) -> None:
        self.spec = spec
        self.is_frozen = spec.frozen or bool(spec.flags & maps.F_RDONLY)
        self._in_place = spec.kind in maps.PER_CPU
        self._memory = memory
        self._recent: OrderedDict[bytes, int] | None = None
        if spec.kind in (maps.LRU_HASH, maps.LRU_PERCPU_HASH):
            self._recent = OrderedDict()
        self._values: dict[bytes, int] = {} if self._recent is None else self._recent
        # One more than elements: an update takes a slot before it gives one back.
        self._slots = Slots(memory, spec.value_size, spec.max_entries + 1, bool(spec.flags & maps.F_RDONLY_PROG))
        # The element that takes the place of one that is updated (extra_elems in htab_map_update_elem).
        has_spare = not self._in_place and not spec.flags & maps.F_NO_PREALLOC
        self._spare = self._slots.take() if has_spare else 0
        self.calls: Calls = {
            "map_lookup_elem": self._make_lookup() if self._recent is None else self._make_marking_lookup(self._recent),
            "map_update_elem": self._make_update(),
            "map_delete_elem": self._make_delete(),
        }
        try:
            fill(spec, self._set)
        except BaseException:
            self.close()
            raise

    def _make_lookup(self) -> Callable[[int], int]:
        """As `_reader` and a look into the dictionary, in one function: no other call is so frequent."""
        regions, get, size = self._memory.regions, self._values.get, self.spec.key_size
        unpack = struct.Struct(f"{size}s").unpack_from

        def lookup_at(key: int) -> int:
            try:
                (found,) = unpack(regions[key >> OFFSET_BITS], key & OFFSET_MASK)
            except (KeyError, struct.error):
                raise AccessError(key, size) from None
            return get(found, 0)

        return lookup_at

    def _make_marking_lookup(self, recent: OrderedDict[bytes, int]) -> Callable[[int], int]:
        key_at, get, mark = _reader(self._memory, self.spec.key_size), recent.get, recent.move_to_end

        def lookup_at(key: int) -> int:
            found = key_at(key)
            address = get(found, 0)
            if address:
                mark(found)
            return address

        return lookup_at

    def _make_update(self) -> Callable[[int, int, int], int]:
        memory, update = self._memory, self._set
        key_at, value_at = _reader(memory, self.spec.key_size), _reader(memory, self.spec.value_size)
        return lambda key, value, flags: update(key_at(key), value_at(value), flags)

    def _make_delete(self) -> Callable[[int], int]:
        key_at, remove = _reader(self._memory, self.spec.key_size), self.remove
        return lambda key: remove(key_at(key))

    def _set(self, key: bytes, value: bytes, flags: int) -> int:
        if flags > EXIST:
            return -EINVAL
        values, slots = self._values, self._slots
        old = values.get(key, 0)
        if not old:
            if flags == EXIST:
                return -ENOENT
            if len(values) >= self.spec.max_entries:
                if self._recent is None:
                    return -E2BIG
                slots.give_back(self._recent.popitem(last=False)[1])
        elif flags == NOEXIST:
            return -EEXIST
        elif self._recent is not None:
            self._recent.move_to_end(key)
        if old and self._in_place:
            slots.write(old, value)
            return 0
        if old and self._spare:
            address, self._spare = self._spare, old
        else:
            try:
                address = slots.take()
            except MemoryError:
                return -ENOMEM
            if old:
                slots.give_back(old)
        slots.write(address, value)
        values[key] = address
        return 0

    def lookup(self, key: bytes) -> int:
        return self._values.get(key, 0)

    def update(self, key: bytes, value: bytes, flags: int = ANY) -> int:
        if len(key) != self.spec.key_size or len(value) < self.spec.value_size:
            raise ValueError(f"map {self.spec.name} has {self.spec.key_size} and {self.spec.value_size} bytes")
        if self.is_frozen:
            return -EPERM
        return self._set(bytes(key), value[: self.spec.value_size], flags)

    def remove(self, key: bytes) -> int:
        address = self._values.pop(key, 0)
        if not address:
            return -ENOENT
        self._slots.give_back(address)
        return 0

    def keys(self) -> list[bytes]:
        """As they are at this moment."""
        return list(self._values)

    def items(self) -> list[tuple[bytes, bytes]]:
        if self.spec.flags & maps.F_WRONLY:
            raise PermissionError(EPERM, f"map {self.spec.name} can only be written")
        size = whole_words(self.spec.value_size) if self._in_place else self.spec.value_size
        return list(zip(self._values, self._slots.read_all(self._values.values(), size), strict=True))

    def close(self) -> None:
        self._slots.close()


def _reader(memory: MachineMemory, size: int) -> Callable[[int], bytes]:
    """The function that reads `size` bytes at an address; it raises AccessError."""
    regions, unpack = memory.regions, struct.Struct(f"{size}s").unpack_from

    def read(address: int) -> bytes:
        try:
            found: bytes = unpack(regions[address >> OFFSET_BITS], address & OFFSET_MASK)[0]
        except (KeyError, struct.error):
            raise AccessError(address, size) from None
        return found

    return read
