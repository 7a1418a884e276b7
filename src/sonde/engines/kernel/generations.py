"""Generations of what processes have mapped: programs record them with addresses, and events of mappings have them.

A program at the tracepoint maple_tree:ma_write, which the kernel passes with each change of a tree of mappings (mm_mt,
mm/mmap.c), counts up the generation of a process that maps code, and writes down when. So a mapping that perf tells of
has the generation that the last of these has before it.
"""

from __future__ import annotations

import os
import struct
from collections import Counter
from collections.abc import Mapping, Sequence

from sonde.bpf import instructions as i
from sonde.bpf import maps, programs
from sonde.bpf.helpers import NUMBERS
from sonde.engines.kernel import commands
from sonde.engines.kernel.btf_ids import TypeFinder
from sonde.engines.kernel.commands import ProgramCode
from sonde.engines.kernel.maps import KernelMap
from sonde.engines.kernel.ring import KernelRing
from sonde.engines.kernel.side_band import SideBand
from sonde.formats.bpf_ring import DISCARD, RING_HEADER, record_size
from sonde.model.errors import EngineError
from sonde.model.named_maps import GENERATION_OFFSETS, GENERATION_PLACES, GENERATION_SLOTS, GENERATIONS
from sonde.model.spec import MapSpec, TracingSpec
from sonde.symbols.process_events import Executed, Forked, Mapped, ProcessEvent
from sonde.typed import NamedTuple

_TRACEPOINT = "btf_trace_ma_write"
_TREE_ARGUMENT, _ENTRY_ARGUMENT = 8, 24
"""Offsets of the arguments in the context: struct ma_state *, and the mapping that is put there, or NULL."""

_EXECUTABLE = 4
"""VM_EXEC (include/linux/mm.h)."""

_NO_WAKEUP = 1
"""BPF_RB_NO_WAKEUP: what is told is read with perf's records, which wake the reader."""

_RECORD = struct.Struct("=QII")
"""Time of CLOCK_MONOTONIC in ns, slot of the process, its generation."""

_HALF = 1 << 31
"""Of the numbers that a word of 32 bits can have."""

_ROOM = 1 << 18
"""Bytes for records: 10,000 of them between two looks."""


class Change(NamedTuple):
    """A generation that has begun: when, in ns of CLOCK_MONOTONIC, the slot, and its number."""

    time: int
    slot: int
    generation: int


class Numbering:
    """Gives events of mappings the generations of their processes. `lost` counts generations whose beginning is not
    known: numbers of a slot follow each other, but for those in `skipped`, which were begun by hand."""

    def __init__(self) -> None:
        self.lost = 0
        self.skipped: Counter[int] = Counter()
        self._present: dict[int, int] = {}
        """By slot."""
        self._early: Sequence[Change] = ()

    def number(self, changes: Sequence[Change], events: Sequence[ProcessEvent]) -> list[ProcessEvent]:
        """The events, which are in the order of time; changes that are later than all of them wait for others."""
        waiting, at, numbered = sorted((*self._early, *changes)), 0, []
        for event in events:
            while at < len(waiting) and waiting[at].time <= event.time:
                self._begin(waiting[at])
                at += 1
            match event:
                case Mapped(pid=pid) | Executed(pid=pid) | Forked(pid=pid):
                    event = event._replace(generation=self._present.get(pid % GENERATION_SLOTS, 0))
            numbered.append(event)
        self._early = waiting[at:]
        return numbered

    def whole(self, slot: int, generation: int) -> int:
        """A generation near the present one, of which programs have the lower 32 bits alone."""
        present = self._present.get(slot, 0)
        return present + (generation - present + _HALF) % (2 * _HALF) - _HALF

    def _begin(self, change: Change) -> None:
        slot = change.slot
        present = self._present.get(slot, 0)
        generation = self.whole(slot, change.generation)
        if generation <= present:
            # Of another process of the slot, on another CPU: it was taken for missing.
            self.lost -= 1
            return
        missing = generation - present - 1
        by_hand = min(missing, self.skipped[slot])
        self.skipped[slot] -= by_hand
        self.lost += missing - by_hand
        self._present[slot] = generation


class Generations:
    """The program, attached, and its ring. Raises OSError or EngineError where the kernel does not have it."""

    def __init__(self, generations: KernelMap, offsets: Sequence[int]) -> None:
        self._descriptors: list[int] = []
        self._ring: KernelRing | None = None
        self._numbering = Numbering()
        try:
            records = KernelMap(MapSpec("generation.ring", maps.RINGBUF, 0, 0, _ROOM), 1)
            self._descriptors.append(records.descriptor)
            self._ring = KernelRing(records.descriptor, _ROOM)
            self._attach(_code(offsets, generations.descriptor, records.descriptor))
            self._advancing = self._load_advance(_advance_code(generations.descriptor))
        except BaseException:
            self.close()
            raise

    def _attach(self, code: bytes) -> None:
        finder = TypeFinder()
        try:
            target = finder.typedef(_TRACEPOINT)
        finally:
            finder.close()
        if target.btf:
            self._descriptors.append(target.btf)
        program = ProgramCode(
            "generations", programs.TRACING, programs.TRACE_RAW_TP, code, 0, b"", b"", target.id, target.btf
        )
        self._descriptors.append(commands.load_program(program))
        self._descriptors.append(commands.open_raw_tracepoint(self._descriptors[-1], None))

    def _load_advance(self, code: bytes) -> int:
        program = ProgramCode("advance", programs.SYSCALL, 0, code, flags=programs.F_SLEEPABLE)
        self._descriptors.append(commands.load_program(program))
        return self._descriptors[-1]

    def advance(self, pid: int) -> int:
        """Begin another generation of a process and give its number. Raises OSError."""
        slot = pid % GENERATION_SLOTS
        context = bytearray(struct.pack("=II", slot, 0))
        commands.run_syscall_program(self._advancing, context)
        self._numbering.skipped[slot] += 1
        return self._numbering.whole(slot, struct.unpack_from("=I", context, 4)[0])

    def number(self, events: Sequence[ProcessEvent]) -> list[ProcessEvent]:
        """The events, which are in the order of time, with the generations of their processes by then."""
        return self._numbering.number(self._read(), events)

    @property
    def lost(self) -> int:
        """Mappings of which it is not known when they were counted, as the ring was full."""
        return self._numbering.lost

    def _read(self) -> list[Change]:
        """What has been counted since the last time."""
        found: list[Change] = []
        if self._ring is not None:
            data, at = self._ring.read(), 0
            while at < len(data):
                (head,) = struct.unpack_from("=I", data, at)
                if not head & DISCARD:
                    found.append(Change(*_RECORD.unpack_from(data, at + RING_HEADER)))
                at += record_size(head)
            self._ring.advance(at)
        return found

    def close(self) -> None:
        if self._ring is not None:
            self._ring.close()
            self._ring = None
        while self._descriptors:
            os.close(self._descriptors.pop())


class NumberedSideBand(SideBand):
    """What all processes map, with generations."""

    def __init__(self, generations: Generations) -> None:
        super().__init__()
        self._generations = generations
        self._counted = 0
        """Of what was lost, as much as `lost` has."""

    def read(self) -> list[ProcessEvent]:
        numbered = self._generations.number(super().read())
        self.lost += self._generations.lost - self._counted
        self._counted = self._generations.lost
        return numbered

    def advance(self, pid: int) -> int | None:
        """Begin another generation of a process and give its number. Raises OSError."""
        return self._generations.advance(pid)

    def close(self) -> None:
        super().close()
        self._generations.close()


def offsets_in(spec: TracingSpec) -> Sequence[int] | None:
    """Where a spec's programs find what generations are counted by; None if they record none."""
    found = {each.name: each for each in spec.maps}
    generations, places = found.get(GENERATIONS), found.get(GENERATION_PLACES)
    if generations is None or places is None:
        return None
    is_usable = generations[1:5] == (maps.ARRAY, 4, 4, GENERATION_SLOTS) and len(places.contents) == 1
    content = places.contents[0][1] if is_usable else b""
    return GENERATION_OFFSETS.unpack_from(content) if len(content) >= GENERATION_OFFSETS.size else None


def side_band(spec: TracingSpec, made: Mapping[str, object]) -> SideBand:
    """What all processes map, with generations if the programs of a spec record them, whose maps are `made`. Raises
    OSError."""
    offsets, generations = offsets_in(spec), made.get(GENERATIONS)
    if offsets is None or not isinstance(generations, KernelMap):
        return SideBand()
    try:
        counting = Generations(generations, offsets)
    except (OSError, EngineError):
        # Before Linux 6.1, or without BTF: all are 0, and an address has the name of what is mapped there last.
        return SideBand()
    try:
        return NumberedSideBand(counting)
    except BaseException:
        counting.close()
        raise


def _code(offsets: Sequence[int], generations: int, records: int) -> bytes:
    """If the tree is that of the running process's mappings, and the mapping may be executed: one generation more."""
    memory, tree, state, flags = offsets
    decide = [
        i.load(8, i.R6, i.R1, _TREE_ARGUMENT),
        i.load(8, i.R7, i.R1, _ENTRY_ARGUMENT),
        _leave_if(i.JEQ, i.R7, 0),
        i.call(NUMBERS["get_current_task_btf"]),
        i.load(8, i.R1, i.R0, memory),
        _leave_if(i.JEQ, i.R1, 0),
        i.alu64_imm(i.ADD, i.R1, tree),
        i.load(8, i.R2, i.R6, state),
        i.jump_reg(i.JNE, i.R1, i.R2, _LEAVE),
        i.mov_reg(i.R1, i.R10),
        i.alu64_imm(i.ADD, i.R1, -8),
        i.mov_imm(i.R2, 8),
        i.mov_reg(i.R3, i.R7),
        i.alu64_imm(i.ADD, i.R3, flags),
        i.call(NUMBERS["probe_read_kernel"]),
        _leave_if(i.JNE, i.R0, 0),
        i.load(8, i.R1, i.R10, -8),
        i.alu64_imm(i.AND, i.R1, _EXECUTABLE),
        _leave_if(i.JEQ, i.R1, 0),
    ]
    count = [
        i.call(NUMBERS["get_current_pid_tgid"]),
        i.mov_reg(i.R8, i.R0),
        i.alu64_imm(i.RSH, i.R8, 32),
        i.alu64_imm(i.AND, i.R8, GENERATION_SLOTS - 1),
        i.store_reg(4, i.R10, -4, i.R8),
        *_counted(generations),
    ]
    tell = [
        i.call(NUMBERS["ktime_get_ns"]),
        i.mov_reg(i.R6, i.R0),
        *i.ld_map_fd(i.R1, records),
        i.mov_imm(i.R2, _RECORD.size),
        i.mov_imm(i.R3, 0),
        i.call(NUMBERS["ringbuf_reserve"]),
        _leave_if(i.JEQ, i.R0, 0),
        i.store_reg(8, i.R0, 0, i.R6),
        i.store_reg(4, i.R0, 8, i.R8),
        i.store_reg(4, i.R0, 12, i.R9),
        i.mov_reg(i.R1, i.R0),
        i.mov_imm(i.R2, _NO_WAKEUP),
        i.call(NUMBERS["ringbuf_submit"]),
    ]
    return i.encode(_with_end([*decide, *count, *tell]))


def _advance_code(generations: int) -> bytes:
    """u32 context[0] is the slot; u32 context[1] its new generation."""
    code = [
        i.mov_reg(i.R6, i.R1),
        i.load(4, i.R1, i.R6, 0),
        i.store_reg(4, i.R10, -4, i.R1),
        *_counted(generations),
        i.store_reg(4, i.R6, 4, i.R9),
    ]
    return i.encode(_with_end(code))


def _counted(generations: int) -> list[i.Instruction]:
    """R9: one generation more of the slot that is at the upper end of the stack."""
    return [
        *i.ld_map_fd(i.R1, generations),
        i.mov_reg(i.R2, i.R10),
        i.alu64_imm(i.ADD, i.R2, -4),
        i.call(NUMBERS["map_lookup_elem"]),
        _leave_if(i.JEQ, i.R0, 0),
        i.mov_imm(i.R9, 1),
        i.atomic(4, i.ADD | i.FETCH, i.R0, 0, i.R9),
        i.alu64_imm(i.ADD, i.R9, 1),
    ]


_LEAVE = 0x7FFF
"""In place of the distance to the end, which is put in when it is known."""


def _leave_if(condition: int, register: int, value: int) -> i.Instruction:
    return i.jump_imm(condition, register, value, _LEAVE)


def _with_end(code: Sequence[i.Instruction]) -> list[i.Instruction]:
    made = [each._replace(offset=len(code) - at - 1) if each.offset == _LEAVE else each for at, each in enumerate(code)]
    return [*made, i.mov_imm(i.R0, 0), i.exit_()]
