"""Task storage (kernel/bpf/bpf_task_storage.c): a value for each task that has one, gone when the task ends."""

from __future__ import annotations

from errno import EINVAL, ENOENT

from sonde.model.spec import MapSpec
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.maps.base import ANY, Calls
from sonde.runtime.maps.slots import Slots

CREATE = 1
"""Flag of get: make the value if there is none (BPF_LOCAL_STORAGE_GET_F_CREATE)."""

_PER_REGION = 64


class TaskStorage:
    """Keyed by the address of the task's task_struct. The engine calls `forget` when a task has ended."""

    handle = 0

    def __init__(self, spec: MapSpec, memory: MachineMemory) -> None:
        self.spec = spec
        self._memory = memory
        self._slots = Slots(memory, spec.value_size, _PER_REGION)
        self._zeros = bytes(spec.value_size)
        self._values: dict[int, int] = {}
        self.calls: Calls = {"task_storage_get": self.get, "task_storage_delete": self.delete_of}

    def get(self, task: int, value: int, flags: int) -> int:
        """The address of the task's value, made from the bytes at `value` (0: zeros) with CREATE; 0 if none."""
        found = self._values.get(task)
        if found is not None and not flags & ~CREATE:
            return found
        if flags != CREATE or not task:
            return 0
        initial = self._memory.read(value, self.spec.value_size) if value else self._zeros
        try:
            address = self._slots.take()
        except MemoryError:
            return 0
        self._slots.write(address, initial)
        self._values[task] = address
        return address

    def delete_of(self, task: int) -> int:
        if not task:
            return -EINVAL
        address = self._values.pop(task, None)
        if address is None:
            return -ENOENT
        self._slots.give_back(address)
        return 0

    def forget(self, task: int) -> None:
        self.delete_of(task)

    def lookup(self, key: bytes) -> int:
        return 0

    def update(self, key: bytes, value: bytes, flags: int = ANY) -> int:
        return -EINVAL

    def items(self) -> list[tuple[bytes, bytes]]:
        """None: the kernel does not tell them either (bpf_task_storage_map has no iteration by key)."""
        return []

    def close(self) -> None:
        self._slots.close()
