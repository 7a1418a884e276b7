"""Arrays of what programs use but do not see: programs to call and perf events (kernel/bpf/arraymap.c).

The kernel's elements are set by descriptor; here the engine sets the objects themselves.
"""

from __future__ import annotations

from errno import E2BIG, EINVAL

from sonde.model.spec import MapSpec
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.maps.base import ANY, Calls
from sonde.typed import Any


class ObjectArray:
    """`elements` by index, None where there is none."""

    handle = 0
    calls: Calls = {}

    def __init__(self, spec: MapSpec, memory: MachineMemory) -> None:
        self.spec = spec
        self.elements: list[Any] = [None] * spec.max_entries

    def set(self, index: int, element: object, flags: int = ANY) -> int:
        if flags != ANY:
            return -EINVAL
        if index >= len(self.elements):
            return -E2BIG
        self.elements[index] = element
        return 0

    def lookup(self, key: bytes) -> int:
        return 0

    def update(self, key: bytes, value: bytes, flags: int = ANY) -> int:
        return -EINVAL

    def items(self) -> list[tuple[bytes, bytes]]:
        return []

    def close(self) -> None:
        self.elements = []
