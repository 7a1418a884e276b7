"""Firings of this engine, recorded as its programs run: who, when, registers, arguments, and what programs read.

Structures of the thread and of arguments, in the machine's memory, are recorded as reads of the kernel's memory
(`recorded_structures.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from errno import EFAULT

from sonde.arch import address_space, registers
from sonde.bpf import programs
from sonde.bpf.helpers import CPU_TIME, OPEN_FILE
from sonde.engines.base import FiringKeeper, ProcessEvents
from sonde.engines.embedded.sources.argument_reads import behind_arguments, behind_static, command_line
from sonde.engines.embedded.sources.buffers import Buffers
from sonde.engines.embedded.sources.firings import Clock
from sonde.engines.embedded.sources.images import ImageEvents
from sonde.engines.embedded.sources.packet_hooks import PassingContext
from sonde.engines.embedded.sources.recorded_structures import ELSEWHERE, RecordedStructures
from sonde.engines.embedded.sources.task import TracedTask
from sonde.engines.fired import FiringThread, KeptPacket, MemoryRead, RecordedFiring
from sonde.engines.firing_records import encode
from sonde.machine.open_files import directory
from sonde.model.firing_record import DEPTH
from sonde.model.probe import Internal, Probe, RawTracepoint, StaticProbe, Uprobe
from sonde.model.spec import TracingSpec
from sonde.runtime.environment import Environment, OpenFiles, Task
from sonde.runtime.files import PATH_OF_FILE, directories_of
from sonde.runtime.machine.memory import MachineMemory
from sonde.runtime.perf.packet_pieces import PacketBytes
from sonde.symbols.process_events import ProcessEvent

_LOWEST = 1 << 16
"""There is nothing below in usual processes (vm.mmap_min_addr)."""

_U64 = (1 << 64) - 1
_WORD = struct.Struct("<Q")

Read = Callable[[int, int, int], bytes]
Walk = Callable[[int, int], Sequence[int]]


def recorded_probes(spec: TracingSpec) -> tuple[Probe, ...]:
    """What a recording of this spec may have firings of: the probes as programs are fired by them, and static
    probes whole, as scripts are compiled for them."""
    found: dict[Probe, None] = {}
    for program in spec.programs:
        found |= {probe: None for probe, _ in program.probes}
    found |= {probe: None for probe in spec.probes if isinstance(probe.firing, (Internal, StaticProbe))}
    return tuple(found)


class FiringTap:
    """Writes firings to `keeper` when their programs have run."""

    def __init__(
        self, keeper: FiringKeeper, spec: TracingSpec, memory: MachineMemory, buffers: Buffers,
        images: ImageEvents | None = None,
    ) -> None:  # fmt: skip
        """`images` tells what processes have mapped, where addresses of theirs are recorded."""
        self.keeper, self._images = keeper, images
        self._places = {probe: place for place, probe in enumerate(recorded_probes(spec))}
        self._memory, self._structures, self._buffers = memory, RecordedStructures(memory), buffers
        self._arguments = {
            (each.id, site.offset): site.arguments
            for each in spec.probes
            if isinstance(each.firing, StaticProbe)
            for site in each.firing.sites
        }
        self._reads: list[MemoryRead] | None = None
        self._stack: tuple[int, ...] | None = None
        self._results: list[tuple[int, int]] = []
        self.environment: Environment | None = None
        self.processes = KeptProcessEvents(images, keeper) if images is not None else None

    def reading(self, read: Read) -> Read:
        """Reads of processes, noted."""

        def noted(tid: int, address: int, size: int) -> bytes:
            try:
                data = read(tid, address, size)
            except OSError:
                self._note(MemoryRead(address, None))
                raise
            self._note(MemoryRead(address, data))
            return data

        return noted

    def walking(self, walk: Walk) -> Walk:
        """Stacks of processes, noted."""

        def noted(tid: int, depth: int) -> Sequence[int]:
            found = walk(tid, depth)
            if self._stack is None or len(found) > len(self._stack):
                self._stack = tuple(found)
            return found

        return noted

    def telling(self, cpu_time: Callable[[Task], int]) -> Callable[[Task], int]:
        """CPU times, noted."""

        def noted(task: Task) -> int:
            found = cpu_time(task)
            self.note_result(CPU_TIME, found)
            return found

        return noted

    def note_result(self, helper: int, result: int) -> None:
        self._results.append((helper, result & _U64))

    def note_structure(self, pointer: int) -> None:
        """What lies at an address of the machine's."""
        read = self._structures.read(pointer)
        if read is not None:
            self._note(read)

    def note_text(self, pointer: int, text: bytes) -> None:
        """The text that stands for a structure there."""
        self._note(MemoryRead(pointer + ELSEWHERE, text, True))

    def run(self, run: Callable[[int], int], probe: Probe, kind: int) -> Callable[[int], int]:
        """A program as it is run for a probe, and then recorded."""
        place = self._places[probe]
        words = len(self._buffers.arguments) // 8 if isinstance(probe.firing, RawTracepoint) else 0

        def fire(context: int) -> int:
            arguments = bytes(self._buffers.arguments[: 8 * words]) if kind != programs.KPROBE else b""
            self._begin()
            try:
                return run(context)
            finally:
                self._end(probe, place, arguments)

        return fire

    def packet(self, run: Callable[[int], int], probe: Probe, context: PassingContext) -> Callable[[int], int]:
        """The same for the packet of the environment."""
        place = self._places[probe]

        def fire(address: int) -> int:
            self._begin()
            try:
                return run(address)
            finally:
                environment = self.environment
                assert environment is not None
                self._end(probe, place, context.passing(environment), self._kept(environment.packet))

        return fire

    def _kept(self, packet: PacketBytes) -> KeptPacket:
        data = bytearray(min(packet.length, self.keeper.packet_bytes))
        packet.copy(memoryview(data), 0, len(data))
        return KeptPacket(bytes(data), packet.length)

    def clock(self, fire: Callable[..., None], clocks: Sequence[Clock]) -> Callable[..., None]:
        """The same of a clock's programs, by the clock's number."""
        probes = [_probe_of(each) for each in clocks]

        def tick(number: int, *address: int) -> None:
            self._begin()
            fire(number, *address)
            self._end(probes[number], self._places[probes[number]], b"")

        return tick

    def internal(self, name: str, run: Callable[[int], int], context: int) -> None:
        """The same of BEGIN and END."""
        probe, place = next(each for each in self._places.items() if each[0].firing == Internal(name))
        self._begin()
        run(context)
        self._end(probe, place, b"")

    def _begin(self) -> None:
        self._reads, self._stack, self._results = [], None, []

    def _note(self, read: MemoryRead) -> None:
        if self._reads is not None:
            self._reads.append(read)

    def _end(self, probe: Probe, place: int, context: bytes, packet: KeptPacket | None = None) -> None:
        environment = self.environment
        assert environment is not None
        reads, self._reads = self._reads or [], None
        task = environment.task
        if self.keeper.reads_more and isinstance(task, TracedTask):
            found_at, user_end = self._buffers.registers, environment.addresses.user_end
            if self.keeper.takes_rings:
                # Not where names and paths get pseudonyms.
                reads += self._directories(task)
                reads += command_line(task, self._memory)
            reads += behind_arguments(probe.firing, task, found_at, user_end)
            if isinstance(probe.firing, Uprobe) and probe.firing.kind == "static":
                arguments_there = self._arguments[probe.id, probe.firing.offset]
                reads += behind_static(arguments_there, task, found_at, user_end)
            task.user_stack(DEPTH)
        if self._images is not None and isinstance(task, TracedTask):
            self._images.require(task.process, self._shown(reads))
        arguments = _WORD.iter_unpack(context) if packet is None else ()
        pointers = [task.address, *(each for (each,) in arguments)]
        found = RecordedFiring(
            place, environment.now, 0, self._thread(task),
            self._structures.moved(context) if packet is None else context,
            bytes(self._buffers.registers[: registers.SIZE]) if packet is None else b"",
            (*reads, *self._structures.behind(pointers)), None, self._stack, tuple(self._results), packet,
        )  # fmt: skip
        if self.processes is not None:
            self.processes.pull()
        self.keeper.firing(encode(found))

    def _directories(self, task: TracedTask) -> Iterator[MemoryRead]:
        """The texts of the thread's root and working directory, in the place of the structures."""
        for place, name in directories_of(task, self._memory):
            try:
                yield MemoryRead(place + ELSEWHERE, directory(task.tid, name), True)
            except OSError:
                continue

    def _shown(self, reads: Sequence[MemoryRead]) -> list[int]:
        """Addresses that may be shown by their names: of the stack, and what else stacks are completed from."""
        counter = self._buffers.registers[registers.PROGRAM_COUNTER : registers.PROGRAM_COUNTER + 8]
        words = (each.data for each in reads if each.data is not None and len(each.data) == _WORD.size)
        found = [*(self._stack or ()), *(int.from_bytes(each, "little") for each in (counter, *words))]
        return [each for each in found if _LOWEST <= each < address_space.own_address_space().user_end]

    def _thread(self, task: Task) -> FiringThread:
        parent = task.process.parent if isinstance(task, TracedTask) else None
        address = task.address + ELSEWHERE
        return FiringThread(
            task.tid, task.pid, task.comm, task.uid, task.gid, parent.pid if parent is not None else 0, address
        )


def _probe_of(clock: Clock) -> Probe:
    return next(probe for probe, _ in clock.program.probes if probe.id == clock.probe)


class NotedFiles:
    """The open files that programs ask for, noted."""

    def __init__(self, files: OpenFiles, tap: FiringTap) -> None:
        self._files, self._tap = files, tap

    def open(self, descriptor: int) -> int:
        """Raises OSError."""
        try:
            address = self._files.open(descriptor)
        except OSError as error:
            self._tap.note_result(OPEN_FILE, -(error.errno or EFAULT))
            raise
        self._tap.note_result(OPEN_FILE, address and address + ELSEWHERE)
        if address:
            self._tap.note_structure(address)
            # Who asks for the file asks for its path, or may do so in another script.
            self._note_path(address + PATH_OF_FILE)
        return address

    def _note_path(self, address: int) -> None:
        try:
            self._tap.note_text(address, self._files.path(address))
        except OSError:
            return

    def path(self, address: int) -> bytes:
        """Raises OSError."""
        text = self._files.path(address)
        self._tap.note_text(address, text)
        return text

    def close(self) -> None:
        self._files.close()


class KeptProcessEvents:
    """What processes map and the like, kept as it is read."""

    def __init__(self, events: ProcessEvents, keeper: FiringKeeper) -> None:
        self._events, self._keeper = events, keeper
        self.are_awaited = False
        """Whether somebody else reads them, too."""
        self._waiting: list[ProcessEvent] = []

    @property
    def lost(self) -> int:
        return self._events.lost

    @lost.setter
    def lost(self, count: int) -> None:
        self._events.lost = count

    @property
    def descriptors(self) -> Sequence[int]:
        return self._events.descriptors

    def pull(self) -> None:
        """Keep what has happened, before a firing that it is needed for."""
        for each in self._events.read():
            self._keeper.event(each)
            if self.are_awaited:
                self._waiting.append(each)

    def read(self) -> Sequence[ProcessEvent]:
        self.pull()
        events, self._waiting = self._waiting, []
        return events

    def advance(self, pid: int) -> int | None:
        """Begin another generation of a process."""
        return self._events.advance(pid)
