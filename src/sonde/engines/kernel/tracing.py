"""The objects of one tracing session in the kernel: maps, programs, rings and attachments, all owned here.

Nothing is pinned, but for iterators that a program wants in a file: when the process ends, however it does, the kernel
takes everything away.
"""

from __future__ import annotations

import math
import os
import select
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from sonde import written_files
from sonde.bpf import programs
from sonde.engines.kernel import (
    btf_ids,
    commands,
    detaching,
    family,
    generations,
    iterators,
    limits,
    links,
    metering,
    overflow_events,
    perf_outputs,
    requirements,
    uprobes,
)
from sonde.engines.kernel.failures import NOT_SUPPORTED, explain
from sonde.engines.kernel.limits import allow_descriptors
from sonde.engines.kernel.links import Attachment
from sonde.engines.kernel.maps import KernelMap, KernelMapArray, create
from sonde.engines.kernel.programs import NO_TYPE, LoadedProgram, TypeReference, load
from sonde.engines.kernel.rings import Rings
from sonde.engines.kernel.stamps import StampValues
from sonde.engines.kernel.syscalls import PollSet, current_cpu
from sonde.machine.system import possible_cpus
from sonde.model.errors import EngineError
from sonde.model.named_maps import CUT_SHORT, FAMILY, METER, SKIPPED
from sonde.model.probe import Probe
from sonde.model.spec import ProgramSpec, TracingSpec, element_name
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.base import Progress, Ring, SiteOfFile
    from sonde.engines.kernel.overflow_events import OverflowEvents
    from sonde.engines.kernel.side_band import SideBand
    from sonde.model.samples import SampleRequest

_LOOK = 0.02
"""Seconds between two looks at perf rings, which tell only when they have filled in part: how late a line may be."""

_LONGEST = 3600.0
"""Seconds that one sleep lasts at most: poll(2) counts milliseconds in 31 bits."""


class KernelTracing:
    """The Tracing of a spec: maps are created and programs loaded by the constructor, which raises EngineError."""

    def __init__(
        self, spec: TracingSpec, cpu: int | None = None, values: StampValues | None = None,
        request: SampleRequest | None = None,
    ) -> None:  # fmt: skip
        self._spec, self._cpu = spec, cpu
        self._request = request
        self._overflows: OverflowEvents | None = None
        self._values = values or StampValues()
        self._rings: Rings | None = None
        self._maps: dict[str, KernelMap | KernelMapArray] = {}
        self._elements: dict[str, tuple[KernelMapArray, int]] = {}
        self._programs: list[LoadedProgram] = []
        self._descriptors: list[int] = []
        self._attachments: list[Attachment] = []
        self._poll_set: PollSet | None = None
        self._side_bands: list[SideBand] = []
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
        self._fill(spec, {name: each.descriptor for name, each in self._maps.items()})
        self._rings = Rings(spec, self._maps, self._request.take if self._request is not None else None)

    @property
    def rings(self) -> Sequence[Ring]:
        """What the consumer reads, in the order of the spec."""
        return self._rings.rings if self._rings is not None else ()

    def _fill(self, spec: TracingSpec, descriptors: Mapping[str, int]) -> None:
        """Put the named maps or programs that there are by now into the maps that hold them."""
        for each in spec.maps:
            for key, name in each.elements or ():
                if name in descriptors:
                    self._map(each.name).put(key, descriptors[name])

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
        self._fill(spec, {each.spec.name: each.descriptor for each in self._programs})

    def _load_btf(self, program: ProgramSpec) -> int:
        try:
            return self._own(commands.load_btf(program.btf))
        except OSError as error:
            raise explain(error, f"cannot load the BTF of program {program.name}") from None

    def _find_targets(self, spec: TracingSpec) -> dict[str, TypeReference]:
        names = {program.attach_to: program.attach_type for program in spec.programs if program.attach_to}
        targets: dict[str, TypeReference] = {}
        if not names:
            return targets

        try:
            finder = btf_ids.TypeFinder()
        except OSError as error:
            text = requirements.too_old(requirements.PROGRAMS[programs.SYSCALL]) if error.errno in NOT_SUPPORTED else ""
            what = "cannot look up types of the kernel"
            raise (EngineError(f"{what}: {text}") if text else explain(error, what)) from None
        try:
            for name, attach_type in names.items():
                find = finder.typedef if attach_type == programs.TRACE_RAW_TP else finder.function
                targets[name] = _found(find, name, spec)
                if targets[name].btf:
                    self._own(targets[name].btf)
        finally:
            finder.close()
        return targets

    def _own(self, descriptor: int) -> int:
        self._descriptors.append(descriptor)
        return descriptor

    def heed(self, is_ending: Callable[[], bool]) -> None:
        """Nothing: the kernel executes programs, and all of them end soon."""

    def answer(self, asked: Callable[[], None]) -> None:
        """Nothing: programs do not wait."""

    def attach(self) -> Sequence[Probe]:
        """Attach every program whose probes the system fires, in the order of the spec; what the kernel refuses of the
        probes of one program is left out, and given back. Raises EngineError."""
        refused: list[Probe] = []
        takes = self._request is not None and self._request.take is not None
        if takes:
            self._overflow_events()
        symbols = links.KernelSymbols()
        links.refuse_locked(self._programs)
        for program in self._programs:
            links.attach(program, self._attachments.append, self._attach_overflows, symbols, refused.append)
        if self._overflows is not None:
            self._overflows.begin(self._rings.event if takes and self._rings is not None else None)
        return refused

    def _overflow_events(self) -> overflow_events.OverflowEvents:
        if self._overflows is None:
            takes = self._request is not None and self._request.take is not None
            samples = takes or any(each.spec.samples for each in self._programs)
            self._overflows = overflow_events.OverflowEvents(self._request, samples, self._cpu)
        return self._overflows

    def _attach_overflows(self, program: LoadedProgram, probe: Probe, hold: Callable[[int], None]) -> None:
        self._overflow_events().attach(program, probe, hold)

    def samples(self) -> OverflowEvents | None:
        """The samples that programs let through, None where no program does. There are none before `attach`."""
        return self._overflows if self._overflows is not None and self._overflows.has_rings else None

    def packets(self) -> None:
        """Packets are those of devices."""

    def firings(self) -> None:
        """What happens fires programs."""

    def process_events(self) -> SideBand | None:
        """What all processes map, None where perf does not tell."""
        try:
            self._side_bands.append(generations.side_band(self._spec, self._maps))
        except OSError:
            return None
        return self._side_bands[-1]

    def attach_sites(self, program: str, path: str, sites: Sequence[SiteOfFile], pid: int) -> None:
        """Attach a program to places in a file, in a process or, if `pid` is 0, in all, those to come included. Raises
        EngineError."""
        loaded = next(each for each in self._programs if each.spec.name == program)
        limits.allow_more_descriptors(len(sites))
        loaded = loaded._replace(probes=uprobes.served(path, sites, pid))
        links.refuse_locked([loaded])
        links.attach(loaded, self._attachments.append, self._attach_overflows, links.KernelSymbols())

    def await_files(self, mapped: Callable[[int], None]) -> bool:
        """No: processes are not stopped."""
        return False

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

    def measure(self, program: str, times: int) -> int:
        """Run a program of an internal probe that is measured so often; ns each time. Raises EngineError."""
        loaded = next(each for each in self._programs if each.spec.name == program)
        try:
            return commands.measure_program(loaded.descriptor, times)
        except OSError as error:
            raise explain(error, f"cannot measure program {program}") from None

    def restart_timers(self) -> None:
        if self._overflows is not None:
            self._overflows.restart_timers()

    def wait(self, timeout: float | None, others: Sequence[int] = ()) -> list[int]:
        """Sleep until a ring has data, one of the `others` (file descriptors) is readable, a signal arrives or
        `timeout` seconds have passed; return those of `others` that are readable."""
        assert self._rings is not None
        if self._poll_set is None or tuple(others) != self._others:
            self._others = tuple(others)
            self._poll_set = PollSet((*self._others, *self._rings.awaited))
        look = self._look if self._rings.must_be_looked_at else self._poll_set.wait
        ready = look(timeout)
        return [descriptor for descriptor in ready if descriptor in self._others]

    def _look(self, timeout: float | None) -> list[int]:
        """Wait where a record does not wake anybody: look at the rings from time to time."""
        assert self._rings is not None
        assert self._poll_set is not None
        end = time.monotonic() + timeout if timeout is not None else float("inf")
        while not self._rings.has_data:
            left = end - time.monotonic()
            ready = self._poll_set.wait(max(0, min(left, _LOOK)))
            if ready or left <= 0:
                return ready
        return self._poll_set.wait(0)

    def pause(self, seconds: float, others: Sequence[int] = ()) -> list[int]:
        """Sleep for so many seconds, or until one of `others` is readable; those that are."""
        waiting = select.poll()
        for descriptor in others:
            waiting.register(descriptor, select.POLLIN)
        return [descriptor for descriptor, _ in waiting.poll(math.ceil(min(seconds, _LONGEST) * 1000))]

    def read_map(self, name: str) -> list[tuple[bytes, bytes]]:
        """All keys and values; a per-CPU value is the values of all possible CPUs, each padded to 8 bytes."""
        if name == SKIPPED:
            skipped = sum(commands.recursion_misses(p.descriptor) for p in self._programs)
            return [(b"", struct.pack("=Q", skipped)), *self._cut_short()]
        return self._map(name).read()

    def _cut_short(self) -> list[tuple[bytes, bytes]]:
        """How many functions of metered programs could not pay."""
        if METER not in self._maps:
            return []

        return [(CUT_SHORT, struct.pack("=Q", metering.unpaid(self._map(METER).read())))]

    def write_map(self, name: str, key: bytes, value: bytes) -> None:
        """Set one element, of a per-CPU map on all CPUs."""
        self._map(name).write(key, value)

    def remove_from_map(self, name: str, key: bytes) -> None:
        """Delete one element, if it is there."""
        self._map(name).remove(key)

    def adopt_descendants(self, pid: int) -> None:
        """Let the programs know who descends from the process by now."""
        family.adopt_descendants(self._map(FAMILY), pid)

    def _map(self, name: str) -> KernelMap:
        if name in self._elements:
            array, index = self._elements[name]
            return array.elements[index]
        found = self._maps[name]
        assert isinstance(found, KernelMap)
        return found

    def perf_output(self, name: str, has_packets: bool = False) -> perf_outputs.PerfOutput:
        """What programs write to an array of perf events; the caller's to close. Raises EngineError."""
        return perf_outputs.PerfOutput(self._map(name), has_packets)

    def program_code(self, name: str) -> list[tuple[int, int]]:
        """Where in the kernel's memory a program's functions are, [start, end) each, as far as the kernel tells."""
        return [each for p in self._programs if p.spec.name == name for each in commands.program_code(p.descriptor)]

    def iterate(self, name: str, map_name: str) -> Iterator[bytes]:
        """What an iterator writes, over the elements of a map unless `map_name` is "". Raises EngineError."""
        program = next(each for each in self._programs if each.spec.name == name)
        return iterators.written(program, self._map(map_name).descriptor if map_name else 0)

    def go_over(self, name: str) -> Iterator[None]:
        """Have the program of an iterator run for all there is, of the traced processes where there are any; rests
        after some. Raises EngineError."""
        program = next(each for each in self._programs if each.spec.name == name)
        return iterators.fired(program, self._request.processes if self._request is not None else ())

    def replace_map(self, name: str) -> list[tuple[bytes, bytes]]:
        """Put an empty map in the place of a replaceable one; return the old one's final contents."""
        if name not in self._elements:
            raise ValueError(f"map {name} is not an array of maps")
        array, index = self._elements[name]
        return array.replace(index)

    def close(self, progress: Progress | None = None) -> None:
        """Detach and free everything; closing twice is harmless. `progress` is told how far it is where it takes
        long."""
        slow = [attachment.descriptor for attachment in self._attachments if attachment.closing_waits]
        quick = [attachment.descriptor for attachment in self._attachments if not attachment.closing_waits]
        # Of two programs at a tracepoint the later is detached first: the kernel waits for a grace period, 10 ms, where
        # the first one goes and one is left (tracepoint_remove_func, kernel/tracepoint.c).
        for descriptor in (*reversed(quick), *reversed(self._descriptors)):
            os.close(descriptor)
        if slow:
            detaching.detach(slow, progress)
        for pin in filter(None, (attachment.pin for attachment in self._attachments)):
            written_files.remove_pin(pin)
        if self._rings is not None:
            self._rings.close()
        for each in self._maps.values():
            each.close()
        self._attachments, self._descriptors, self._maps, self._elements = [], [], {}, {}
        self._programs, self._poll_set = [], None
        for side_band in self._side_bands:
            side_band.close()
        self._side_bands = []
        if self._overflows is not None:
            self._overflows.close()
            self._overflows = None


def _found(find: Callable[[str], TypeReference], name: str, spec: TracingSpec) -> TypeReference:
    """The type that programs are attached to. Raises EngineError, which names the first of these programs."""
    try:
        return find(name)
    except EngineError as error:
        program = next(each.name for each in spec.programs if each.attach_to == name)
        raise EngineError(f"the kernel refuses program {program}: {error.text}") from None
