"""Queues and stacks (kernel/bpf/queue_stack_maps.c): values without keys."""

from __future__ import annotations

from collections import deque
from errno import E2BIG, EINVAL, ENOENT

from sonde.bpf import maps
from sonde.model.spec import MapSpec
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.maps.base import ANY, EXIST, Calls


class Queue:
    """A queue or, if the spec says so, a stack."""

    handle = 0

    def __init__(self, spec: MapSpec, memory: MachineMemory) -> None:
        self.spec = spec
        self._memory = memory
        self._values: deque[bytes] = deque()
        self.calls: Calls = {
            "map_push_elem": self._push_at,
            "map_pop_elem": lambda destination: self._put(destination, self.pop()),
            "map_peek_elem": lambda destination: self._put(destination, self.peek()),
        }
        self._takes_last = spec.kind == maps.STACK

    def push(self, value: bytes, flags: int) -> int:
        """Add a value: with EXIST the oldest one makes room where there is none."""
        if flags not in (ANY, EXIST):
            return -EINVAL
        if len(self._values) >= self.spec.max_entries:
            if flags != EXIST:
                return -E2BIG
            self._values.popleft()
        self._values.append(value)
        return 0

    def peek(self) -> bytes | None:
        """The next value, None if there is none."""
        return self._values[-1 if self._takes_last else 0] if self._values else None

    def pop(self) -> bytes | None:
        """Take the next value."""
        if not self._values:
            return None
        return self._values.pop() if self._takes_last else self._values.popleft()

    def _push_at(self, value: int, flags: int) -> int:
        return self.push(self._memory.read(value, self.spec.value_size), flags)

    def _put(self, destination: int, value: bytes | None) -> int:
        self._memory.write(destination, bytes(self.spec.value_size) if value is None else value)
        return -ENOENT if value is None else 0

    def items(self) -> list[tuple[bytes, bytes]]:
        """The values in the order in which they would be taken."""
        return [(b"", value) for value in (reversed(self._values) if self._takes_last else self._values)]

    def lookup(self, key: bytes) -> int:
        return 0

    def update(self, key: bytes, value: bytes, flags: int = ANY) -> int:
        """Push; the key is empty."""
        return self.push(value, flags)

    def close(self) -> None:
        self._values.clear()
