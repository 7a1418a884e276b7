"""Stack traces by a number made from their hash (kernel/bpf/stackmap.c)."""

from __future__ import annotations

from collections.abc import Sequence
from errno import EEXIST, EINVAL, ENOMEM
from struct import Struct, pack

from sonde.model.spec import MapSpec
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.maps.base import ANY, Calls
from sonde.runtime.maps.jhash import jhash2

FAST_COMPARE, REUSE = 1 << 9, 1 << 10
"""BPF_F_FAST_STACK_CMP and BPF_F_REUSE_STACKID."""

_INDEX = Struct("=I")


class StackTraceMap:
    """A bucket holds one stack; there are as many as the next power of 2 from max_entries on."""

    handle = 0
    calls: Calls = {}

    def __init__(self, spec: MapSpec, memory: MachineMemory) -> None:
        self.spec = spec
        self._mask = (1 << (spec.max_entries - 1).bit_length()) - 1
        self._buckets: dict[int, tuple[int, bytes]] = {}
        self._hashes: dict[bytes, int] = {}

    def add(self, addresses: Sequence[int], flags: int) -> int:
        """The number of the bucket that holds the stack; -EEXIST if another one has its place, -ENOMEM if as many
        stacks as max_entries are held."""
        data = pack(f"={len(addresses)}Q", *addresses)
        hashed = self._hash(data)
        number = hashed & self._mask
        bucket = self._buckets.get(number)
        if bucket is not None:
            if bucket == (hashed, data) or (bucket[0] == hashed and flags & FAST_COMPARE):
                return number
            if not flags & REUSE:
                return -EEXIST
        # The stack that is replaced keeps its place until the other is written.
        if len(self._buckets) >= self.spec.max_entries:
            return -ENOMEM
        self._buckets[number] = hashed, data
        return number

    def _hash(self, data: bytes) -> int:
        found = self._hashes.get(data)
        if found is None:
            if len(self._hashes) > 4 * self._mask:
                self._hashes.clear()
            found = self._hashes[data] = jhash2(data)
        return found

    def items(self) -> list[tuple[bytes, bytes]]:
        size = self.spec.value_size
        return [(_INDEX.pack(number), data.ljust(size, b"\0")) for number, (_, data) in sorted(self._buckets.items())]

    def lookup(self, key: bytes) -> int:
        return 0

    def update(self, key: bytes, value: bytes, flags: int = ANY) -> int:
        return -EINVAL

    def close(self) -> None:
        self._buckets = {}
