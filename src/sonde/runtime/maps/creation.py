"""Maps from MapSpecs."""

from __future__ import annotations

from errno import E2BIG
from importlib import import_module

from sonde.bpf import maps
from sonde.machine import obstacles
from sonde.model.errors import EngineError
from sonde.model.spec import MapSpec
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.maps import map_array
from sonde.runtime.maps.base import ContentsError, Map, MapTable
from sonde.runtime.maps.limits import check
from sonde.typed import cast

_CLASSES = {
    maps.HASH: "hash.Hash",
    maps.PERCPU_HASH: "hash.Hash",
    maps.LRU_HASH: "hash.Hash",
    maps.LRU_PERCPU_HASH: "hash.Hash",
    maps.ARRAY: "array.ArrayMap",
    maps.PERCPU_ARRAY: "array.ArrayMap",
    maps.PROG_ARRAY: "object_array.ObjectArray",
    maps.PERF_EVENT_ARRAY: "object_array.ObjectArray",
    maps.STACK_TRACE: "stack_trace.StackTraceMap",
    maps.QUEUE: "queue.Queue",
    maps.STACK: "queue.Queue",
    maps.RINGBUF: "ring_buffer.RingBuffer",
    maps.TASK_STORAGE: "task_storage.TaskStorage",
}
"""File and class of each kind, imported when the first one is made."""

_WITH_CONTENTS = frozenset(
    {maps.ARRAY, maps.PERCPU_ARRAY, maps.HASH, maps.PERCPU_HASH, maps.LRU_HASH, maps.LRU_PERCPU_HASH}
)


def check_kind(spec: MapSpec) -> None:
    """Raises EngineError if there are no maps of this kind here."""
    if spec.kind in _CLASSES or spec.kind == maps.ARRAY_OF_MAPS:
        return
    name = maps.type_name(spec.kind)
    raise EngineError(
        f"cannot create map {spec.name}: the embedded engine has no maps of kind {name}; use --engine kernel, as root"
    )


def create(spec: MapSpec, memory: MachineMemory, table: MapTable) -> Map:
    """The map for `spec`, in the table, filled with its `contents`. Raises EngineError."""
    check_kind(spec)
    what = f"cannot create map {spec.name}"
    if spec.by_cpu == "chip":
        # The only CPU is on the only chip.
        spec = spec._replace(contents=((bytes(4), bytes(spec.value_size)),))
    refused = check(spec)
    if refused or (spec.contents and spec.kind not in _WITH_CONTENTS):
        reason = "it is larger than the kernel allows" if refused == E2BIG else "the kernel does not allow its shape"
        raise EngineError(f"{what}: {reason}")
    try:
        return table.add(_make(spec, memory, table))
    except ContentsError as error:
        raise EngineError(f"{what}: {error}") from None
    except MemoryError:
        raise EngineError(f"{what}: not enough memory") from None
    except OSError as error:
        found = obstacles.obstacle(error)
        reason = "; ".join(found) if found else (error.strerror or str(error)).lower()
        raise EngineError(f"{what}: {reason}") from None


def _make(spec: MapSpec, memory: MachineMemory, table: MapTable) -> Map:
    if spec.kind == maps.ARRAY_OF_MAPS:
        assert spec.inner is not None
        inner = spec.inner
        return map_array.MapArray(spec, memory, table, lambda: create(inner, memory, table))
    file, _, name = _CLASSES[spec.kind].partition(".")
    return cast("Map", getattr(import_module(f"sonde.runtime.maps.{file}"), name)(spec, memory))
