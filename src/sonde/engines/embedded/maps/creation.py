"""Maps from MapSpecs."""

from __future__ import annotations

import os
from collections.abc import Callable

from sonde.bpf import maps
from sonde.engines.base import EngineError
from sonde.engines.embedded.machine.memory import Memory
from sonde.engines.embedded.maps.array import Array
from sonde.engines.embedded.maps.base import Map, MapTable
from sonde.engines.embedded.maps.hash import Hash
from sonde.engines.embedded.maps.map_array import MapArray
from sonde.engines.embedded.maps.ring_buffer import RingBuffer
from sonde.engines.embedded.maps.task_storage import TaskStorage
from sonde.spec import MapSpec

_KINDS: dict[int, Callable[[MapSpec, Memory], Map]] = {
    maps.HASH: Hash,
    maps.ARRAY: Array,
    maps.PERCPU_HASH: Hash,
    maps.PERCPU_ARRAY: Array,
    maps.RINGBUF: RingBuffer,
    maps.TASK_STORAGE: TaskStorage,
}


def create(spec: MapSpec, memory: Memory, table: MapTable) -> Map:
    """The map for `spec`, in the table, filled with its `contents`. Raises EngineError."""
    if spec.by_cpu == "chip":
        # The only CPU is on the only chip.
        spec = spec._replace(contents=((bytes(4), bytes(spec.value_size)),))
    try:
        made = table.add(_make(spec, memory, table))
    except (OSError, MemoryError):
        raise EngineError(f"cannot create map {spec.name}: not enough memory") from None
    for key, value in spec.contents:
        result = made.update(key, value)
        if result:
            raise EngineError(f"cannot create map {spec.name}: an element of its contents: {os.strerror(-result)}")
    return made


def _make(spec: MapSpec, memory: Memory, table: MapTable) -> Map:
    if spec.kind == maps.ARRAY_OF_MAPS and (inner := spec.inner) is not None:
        return MapArray(spec, memory, table, lambda: create(inner, memory, table))
    if spec.kind not in _KINDS:
        raise EngineError(f"cannot create map {spec.name}: the embedded engine has no maps of kind {spec.kind}")
    return _KINDS[spec.kind](spec, memory)
