"""The maps of one tracing session of the embedded engine, and the rings among them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from sonde.engines.embedded import perf_outputs, record_rings
from sonde.engines.kernel.ring import KernelRing
from sonde.model.errors import EngineError
from sonde.model.named_maps import PERF_RINGS, PRINTED, PRINTED_LOST, PRINTED_RECORD, UNWIND_WANTED
from sonde.model.spec import TracingSpec, element_name
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.maps import hash as maps_hash
from sonde.runtime.maps import object_array
from sonde.runtime.maps.base import Map, MapTable
from sonde.runtime.maps.creation import create
from sonde.runtime.maps.map_array import MapArray
from sonde.runtime.maps.ring_buffer import AVAIL_DATA, RingBuffer
from sonde.runtime.maps.task_storage import TaskStorage
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.embedded.perf_outputs import EmbeddedPerfOutput
    from sonde.engines.embedded.record_rings import RecordRing
    from sonde.engines.merged_ring import MergedRing


class SessionMaps:
    """`by_name` are all of them, `table` is what helpers reach them by, `rings` are read by the consumer."""

    def __init__(self, memory: MachineMemory) -> None:
        self.table = MapTable()
        self.by_name: dict[str, Map] = {}
        self.rings: list[KernelRing | MergedRing] = []
        self.asked: Callable[[], None] | None = None
        """Called as soon as a program has asked for tables of a file."""
        self._memory = memory
        self._outputs: list[EmbeddedPerfOutput] = []
        self._record_ring: RecordRing | None = None
        self._elements: dict[str, tuple[MapArray, int]] = {}
        self._ring_buffers: list[RingBuffer] = []

    def create(self, spec: TracingSpec) -> None:
        """Raises EngineError. What was made until then is freed by `close`."""
        for map_spec in spec.maps:
            made = self.by_name[map_spec.name] = create(map_spec, self._memory, self.table)
            if map_spec.name == UNWIND_WANTED:
                self._tell_wanted(made)
            if isinstance(made, MapArray):
                own = range(len(made.elements) if map_spec.elements is None else 0)
                self._elements.update({element_name(map_spec.name, index): (made, index) for index in own})
        if spec.rings == (PERF_RINGS,):
            self._open_record_ring(spec)
            return
        for name in spec.rings:
            ring_map = self.by_name[name]
            for element in ring_map.elements if isinstance(ring_map, MapArray) else (ring_map,):
                assert isinstance(element, RingBuffer)
                self._ring_buffers.append(element)
                self.rings.append(KernelRing(element.descriptor, element.spec.max_entries))

    def _open_record_ring(self, spec: TracingSpec) -> None:
        array = self.by_name[PERF_RINGS]
        assert isinstance(array, object_array.ObjectArray)
        self._record_ring = record_rings.RecordRing(array, spec.ring_bytes)
        self.rings.append(self._record_ring.ring)

    def fill(self, programs: Mapping[str, Callable[..., object] | None]) -> None:
        """Put the named programs and maps into the maps that hold them."""
        for made in self.by_name.values():
            for key, name in made.spec.elements or ():
                if isinstance(made, MapArray):
                    made.hold(key, self.by_name[name])
                else:
                    assert isinstance(made, object_array.ObjectArray)
                    made.set(key, programs[name])

    def perf_output(self, name: str, realtime_offset: int) -> perf_outputs.EmbeddedPerfOutput:
        """The ring of an array of perf events; `realtime_offset`: the wall clock less CLOCK_MONOTONIC, in ns."""
        array = self.by_name[name]
        assert isinstance(array, object_array.ObjectArray)
        made = perf_outputs.EmbeddedPerfOutput(array, realtime_offset)
        self._outputs.append(made)
        return made

    def printed(self, text: bytes) -> None:
        """What a program prints goes to the ring for that, if somebody reads it."""
        ring = self.by_name.get(PRINTED)
        if not isinstance(ring, RingBuffer):
            return
        ((key, value),) = self.by_name[PRINTED_LOST].items()
        if ring.output(PRINTED_RECORD.pack(len(text) + 1, 0) + text, 0) < 0:
            self.by_name[PRINTED_LOST].update(key, (int.from_bytes(value, "little") + 1).to_bytes(len(value), "little"))

    def _tell_wanted(self, wanted: Map) -> None:
        """Have what programs write to the map be told."""
        updates = self.table.calls("map_update_elem")
        update = updates[wanted.handle]

        def updated(key: int, value: int, flags: int) -> int:
            result = update(key, value, flags)
            if self.asked is not None:
                self.asked()
            return result

        updates[wanted.handle] = updated

    def is_enough(self, for_data: bool) -> bool:
        """Whether a ring should be looked at: if it has something, or before it is full."""
        if self._record_ring is not None:
            return self._record_ring.is_enough(for_data)
        if self._outputs and any(each.is_enough(for_data) for each in self._outputs):
            return True
        for ring in self._ring_buffers:
            if for_data and ring.is_awake:
                return True
            if ring.query(AVAIL_DATA) * 2 > ring.spec.max_entries:
                return True
        return False

    def lacks(self, size: int) -> bool:
        """Whether a ring that has something has no room for so many bytes more."""
        if self._record_ring is not None:
            return self._record_ring.lacks(size)
        used = ((ring.query(AVAIL_DATA), ring.spec.max_entries) for ring in self._ring_buffers)
        return any(each and each + size > most for each, most in used) or any(
            each.lacks(size) for each in self._outputs
        )

    def rest(self) -> None:
        """The rings are looked at: they need not wake anybody until something comes."""
        for ring in self._ring_buffers:
            ring.is_awake = False

    def read(self, name: str) -> list[tuple[bytes, bytes]]:
        """All keys and values; a per-CPU value is that of the one CPU there is, padded to 8 bytes."""
        return self._find(name).items()

    def write(self, name: str, key: bytes, value: bytes) -> None:
        """Set one element. Raises EngineError."""
        result = self._find(name).update(key, value)
        if result:
            raise EngineError(f"cannot write map {name}: {os.strerror(-result)}")

    def remove(self, name: str, key: bytes) -> None:
        """Delete one element of a hash, if it is there."""
        found = self._find(name)
        assert isinstance(found, maps_hash.Hash)
        found.remove(key)

    def replace(self, name: str) -> list[tuple[bytes, bytes]]:
        """Put an empty map in the place of a replaceable one; return the old one's final contents."""
        if name not in self._elements:
            raise ValueError(f"map {name} is not an array of maps")
        array, index = self._elements[name]
        return array.replace(index)

    def _find(self, name: str) -> Map:
        if name in self._elements:
            array, index = self._elements[name]
            return array.elements[index]
        return self.by_name[name]

    def forget_task(self, address: int) -> None:
        """The thread with this task_struct has ended: what maps keep of it goes."""
        for made in self.by_name.values():
            if isinstance(made, TaskStorage):
                made.forget(address)

    def close(self) -> None:
        """Free everything; closing twice is harmless."""
        for ring in self.rings:
            if isinstance(ring, KernelRing):
                ring.close()
        if self._record_ring is not None:
            self._record_ring.close()
        self.table.close()
        self._outputs.clear()
        self.rings, self.by_name, self._elements, self._ring_buffers = [], {}, {}, []
