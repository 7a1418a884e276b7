"""The objects of one tracing session of the embedded engine: maps, programs, what fires them."""

from __future__ import annotations

import os
import select
import struct
from collections.abc import Sequence

from sonde.engines.base import EngineError
from sonde.engines.embedded.environment import Environment
from sonde.engines.embedded.machine.memory import Memory
from sonde.engines.embedded.maps.base import Map, MapTable
from sonde.engines.embedded.maps.creation import create
from sonde.engines.embedded.maps.map_array import MapArray
from sonde.engines.embedded.maps.ring_buffer import RingBuffer
from sonde.engines.embedded.programs import prepare
from sonde.engines.embedded.stamps import StampValues
from sonde.engines.embedded.structures import Structures
from sonde.engines.embedded.task import Access
from sonde.engines.embedded.threads import Threads
from sonde.engines.kernel.ring import KernelRing
from sonde.spec import SKIPPED, TracingSpec, element_name
from sonde.target import memory as target_memory

_CONTEXT_SIZE = 8 * 12 + 168
_REGISTERS_SIZE = 168


class EmbeddedTracing:
    """The Tracing of a spec: maps are created and programs made ready by the constructor, which raises EngineError."""

    def __init__(self, spec: TracingSpec, values: StampValues) -> None:
        self._memory = Memory()
        self._table = MapTable()
        self.rings: list[KernelRing] = []
        self._maps: dict[str, Map] = {}
        self._elements: dict[str, tuple[MapArray, int]] = {}
        try:
            self._create_maps(spec)
            registers = self._memory.add(bytearray(_REGISTERS_SIZE))
            self._context = self._memory.add(bytearray(_CONTEXT_SIZE))
            access = Access(target_memory.reader(), target_memory.write, lambda tid, depth: ())
            self.threads = Threads(Structures(self._memory), registers, access)
            own = self.threads.outsider(os.getpid())
            assert own is not None
            self.environment = Environment(self._memory, self._table, own)
            self._programs = prepare(spec.programs, self._maps, self.environment, values.value)
        except BaseException:
            self.close()
            raise

    def _create_maps(self, spec: TracingSpec) -> None:
        for map_spec in spec.maps:
            made = self._maps[map_spec.name] = create(map_spec, self._memory, self._table)
            if isinstance(made, MapArray):
                found = {element_name(map_spec.name, index): (made, index) for index in range(len(made.elements))}
                self._elements.update(found)
        for name in spec.rings:
            ring_map = self._maps[name]
            for element in ring_map.elements if isinstance(ring_map, MapArray) else (ring_map,):
                assert isinstance(element, RingBuffer)
                self.rings.append(KernelRing(element.descriptor, element.spec.max_entries))

    def attach(self) -> None:
        """Attach every program whose probes the system fires."""

    def run(self, program: str) -> None:
        """Run a program of an internal probe (BEGIN, END) once, to its end. Raises EngineError."""
        for ready in self._programs:
            if ready.spec.name == program:
                ready.run(self._context)
                return
        raise EngineError(f"there is no program {program}")

    def wait(self, timeout: float | None, others: Sequence[int] = ()) -> list[int]:
        """Sleep until a ring has data, one of the `others` (file descriptors) is readable, a signal arrives or
        `timeout` seconds have passed; return those of `others` that are readable."""
        return select.select(others, (), (), timeout)[0]

    def read_map(self, name: str) -> list[tuple[bytes, bytes]]:
        """All keys and values; a per-CPU value is that of the one CPU there is, padded to 8 bytes."""
        if name == SKIPPED:
            return [(b"", struct.pack("=Q", 0))]
        return self._map(name).items()

    def write_map(self, name: str, key: bytes, value: bytes) -> None:
        """Set one element."""
        result = self._map(name).update(key, value)
        if result:
            raise EngineError(f"cannot write map {name}: {os.strerror(-result)}")

    def _map(self, name: str) -> Map:
        if name in self._elements:
            array, index = self._elements[name]
            return array.elements[index]
        return self._maps[name]

    def replace_map(self, name: str) -> list[tuple[bytes, bytes]]:
        """Put an empty map in the place of a replaceable one; return the old one's final contents."""
        if name not in self._elements:
            raise ValueError(f"map {name} is not an array of maps")
        array, index = self._elements[name]
        return array.replace(index)

    def close(self) -> None:
        """Detach and free everything; closing twice is harmless."""
        for ring in self.rings:
            ring.close()
        self._table.close()
        self.rings, self._maps, self._elements, self._programs = [], {}, {}, []
