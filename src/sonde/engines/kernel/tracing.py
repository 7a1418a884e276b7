"""The objects of one tracing session in the kernel: maps, programs, rings and attachments, all owned here.

Nothing is pinned: when the process ends, however it does, the kernel takes everything away.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence

from sonde.bpf import programs
from sonde.engines.base import EngineError
from sonde.engines.kernel import commands, links, perf_events
from sonde.engines.kernel.failures import NOT_SUPPORTED, explain
from sonde.engines.kernel.limits import allow_descriptors
from sonde.engines.kernel.links import Attachment
from sonde.engines.kernel.maps import KernelMap, KernelMapArray, create
from sonde.engines.kernel.programs import NO_TYPE, LoadedProgram, TypeReference, load
from sonde.engines.kernel.ring import KernelRing
from sonde.engines.kernel.stamps import StampValues
from sonde.engines.kernel.syscalls import PollSet, current_cpu
from sonde.spec import SKIPPED, ProgramSpec, TracingSpec, element_name
from sonde.target.machine import possible_cpus


class KernelTracing:
    """The Tracing of a spec: maps are created and programs loaded by the constructor, which raises EngineError."""

    def __init__(self, spec: TracingSpec, cpu: int | None = None, values: StampValues | None = None) -> None:
        self._cpu = cpu
        self._values = values or StampValues()
        self.rings: list[KernelRing] = []
        self._maps: dict[str, KernelMap | KernelMapArray] = {}
        self._elements: dict[str, tuple[KernelMapArray, int]] = {}
        self._programs: list[LoadedProgram] = []
        self._descriptors: list[int] = []
        self._attachments: list[Attachment] = []
        self._poll_set: PollSet | None = None
        self._others: tuple[int, ...] = ()
        allow_descriptors(spec)
        try:
            self._create_maps(spec)
            self._load_programs(spec)
        except BaseException:
            self.close()
            raise

    def _create_maps(self, spec: TracingSpec) -> None:
        cpus = possible_cpus()
        for map_spec in spec.maps:
            made = self._maps[map_spec.name] = create(map_spec, cpus)
            if isinstance(made, KernelMapArray):
                found = {element_name(map_spec.name, index): (made, index) for index in range(len(made.elements))}
                self._elements.update(found)
        for name in spec.rings:
            ring_map = self._maps[name]
            for element in ring_map.elements if isinstance(ring_map, KernelMapArray) else (ring_map,):
                try:
                    self.rings.append(KernelRing(element.descriptor, element.spec.max_entries))
                except OSError as error:
                    raise explain(error, f"cannot map ring buffer {name} into memory") from None

    def _load_programs(self, spec: TracingSpec) -> None:
        maps = {name: each.descriptor for name, each in self._maps.items()}
        blobs: dict[bytes, int] = {}
        for program in spec.programs:
            if program.btf and program.btf not in blobs:
                blobs[program.btf] = self._load_btf(program)
        targets = self._find_targets(spec)
        for program in spec.programs:
            target = targets[program.attach_to] if program.attach_to else NO_TYPE
            self._programs += load(program, maps, blobs.get(program.btf, 0), target, self._own, self._values)

    def _load_btf(self, program: ProgramSpec) -> int:
        try:
            return self._own(commands.load_btf(program.btf))
        except OSError as error:
            raise explain(error, f"cannot load the BTF of program {program.name}") from None

    def _find_targets(self, spec: TracingSpec) -> dict[str, TypeReference]:
        names = {program.attach_to for program in spec.programs if program.attach_to}
        targets: dict[str, TypeReference] = {}
        if not names:
            return targets
        from sonde.engines.kernel.btf_ids import TypeFinder  # an import that most runs do without

        try:
            finder = TypeFinder()
        except OSError as error:
            from sonde.engines.kernel.requirements import PROGRAMS, too_old  # an import that most runs do without

            text = too_old(PROGRAMS[programs.SYSCALL]) if error.errno in NOT_SUPPORTED else ""
            what = "cannot look up types of the kernel"
            raise (EngineError(f"{what}: {text}") if text else explain(error, what)) from None
        try:
            for name in names:
                targets[name] = finder.typedef(name)
                if targets[name].btf:
                    self._own(targets[name].btf)
        finally:
            finder.close()
        return targets

    def _own(self, descriptor: int) -> int:
        self._descriptors.append(descriptor)
        return descriptor

    def attach(self) -> None:
        """Attach every program whose probes the system fires, in the order of the spec. Raises EngineError."""
        for program in self._programs:
            links.attach(program, self._attachments.append, self._cpu)

    def run(self, program: str) -> None:
        """Run a program of an internal probe (BEGIN, END) once, on one CPU, to its end. Raises EngineError."""
        cpu = current_cpu() if self._cpu is None else self._cpu
        for loaded in self._programs:
            if loaded.spec.name == program:
                try:
                    commands.run_program(loaded.descriptor, cpu)
                except OSError as error:
                    raise explain(error, f"cannot run program {program}") from None
                return
        raise EngineError(f"there is no program {program}")

    def wait(self, timeout: float | None, others: Sequence[int] = ()) -> list[int]:
        """Sleep until a ring has data, one of the `others` (file descriptors) is readable, a signal arrives or
        `timeout` seconds have passed; return those of `others` that are readable."""
        if self._poll_set is None or tuple(others) != self._others:
            self._others = tuple(others)
            self._poll_set = PollSet((*self._others, *(ring.descriptor for ring in self.rings)))
        ready = self._poll_set.wait(timeout)
        return [descriptor for descriptor in ready if descriptor in self._others]

    def pause(self, seconds: float, others: Sequence[int] = ()) -> list[int]:
        """Sleep for so many seconds, or until one of `others` is readable; those that are."""
        import select  # an import that some runs do without

        return select.select(others, (), (), seconds)[0]

    def read_map(self, name: str) -> list[tuple[bytes, bytes]]:
        """All keys and values; a per-CPU value is the values of all possible CPUs, each padded to 8 bytes."""
        if name == SKIPPED:
            return [(b"", struct.pack("=Q", sum(commands.recursion_misses(p.descriptor) for p in self._programs)))]
        return self._map(name).read()

    def write_map(self, name: str, key: bytes, value: bytes) -> None:
        """Set one element, of a per-CPU map on all CPUs."""
        self._map(name).write(key, value)

    def _map(self, name: str) -> KernelMap:
        if name in self._elements:
            array, index = self._elements[name]
            return array.elements[index]
        found = self._maps[name]
        assert isinstance(found, KernelMap)
        return found

    def replace_map(self, name: str) -> list[tuple[bytes, bytes]]:
        """Put an empty map in the place of a replaceable one; return the old one's final contents."""
        if name not in self._elements:
            raise ValueError(f"map {name} is not an array of maps")
        array, index = self._elements[name]
        return array.replace(index)

    def close(self) -> None:
        """Detach and free everything; closing twice is harmless."""
        slow = [attachment.descriptor for attachment in self._attachments if attachment.closing_waits]
        quick = [attachment.descriptor for attachment in self._attachments if not attachment.closing_waits]
        for descriptor in (*quick, *reversed(self._descriptors)):
            os.close(descriptor)
        perf_events.close_all(slow)
        for ring in self.rings:
            ring.close()
        for each in self._maps.values():
            each.close()
        self.rings, self._attachments, self._descriptors, self._maps, self._elements = [], [], [], {}, {}
        self._programs, self._poll_set = [], None
