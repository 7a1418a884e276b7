"""A session of the kernel that is recorded: its programs record their firings, which are written to a file and, here,
fire the script's own programs. So what the session shows is what a replay of its file shows."""

from __future__ import annotations

import struct
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sonde.engines.base import FiringKeeper, ProcessEvents, Tracing
from sonde.engines.fired import AS_BYTES, BY_FRAMES, KERNEL, Happening, OtherNames, RecordedFiring
from sonde.engines.firing_records import FiringDecoder, joined, ring_records, walked_later
from sonde.formats.bpf_ring import record_size
from sonde.machine.system import monotonic_ns, realtime_offset
from sonde.model import firing_record as layout
from sonde.model.named_maps import ACTIVE, COUNTERS, DRAINING, FAMILY, STOPPED
from sonde.model.probe import Internal, Probe, RawTracepoint, StaticProbe, Syscall
from sonde.model.spec import ProgramSpec, TracingSpec
from sonde.model.units import MILLISECOND
from sonde.symbols import objects
from sonde.symbols.mappings import maps_text, parse_maps
from sonde.symbols.process_events import Executed, Exited, Forked, MappingsSnapshot, ProcessEvent
from sonde.symbols.unwinding import kept_stacks
from sonde.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.symbols.symbolizer import SystemSymbolizer

_MOST_KEPT = 128 << 20
"""Bytes of records that wait for the script's programs; more are read from the file, or, where that cannot be, stay
in the ring, or are lost there."""

_UNDERWAY = 20 * MILLISECOND
"""A firing that is as many ns old is in its ring, or never will be."""

_AT_ONCE = 1 << 20
"""Bytes of a ring that are looked at record by record before anything else is: some 0.1 s."""

_INTERVAL = MILLISECOND
"""ns between two looks at the rings, while the script's programs run."""


class RingPiece(NamedTuple):
    """What was read of a ring at once: its records that are still to be taken, and its bytes."""

    records: Iterator[bytes]
    size: int


class ProbePlaces:
    """The places in a recording of the probes that programs record firings of: by program and probe, since one probe
    may be fired in several ways."""

    def __init__(self, spec: TracingSpec) -> None:
        self._places: dict[Probe, int] = {}
        self.by_program: dict[tuple[int, int], int] = {}
        """By the number of the program's name among the spec's strings, and the probe's identifier."""
        numbers = {text: number for number, text in enumerate(spec.strings)}
        for program in spec.programs:
            number = numbers.get(program.name.encode())
            attached: dict[int, Probe] = {}
            for each in program.probes:
                attached.setdefault(each.probe.id, each.probe)
            for probe in spec.probes:
                place = self._place(self._fired_by(program, probe, attached))
                if number is not None:
                    self.by_program.setdefault((number, probe.id), place)
        for probe in spec.probes:
            if isinstance(probe.firing, StaticProbe):
                # What fires are its sites; scripts are compiled for all of them together.
                self._place(probe)

    @property
    def probes(self) -> Sequence[Probe]:
        return list(self._places)

    def table(self) -> tuple[tuple[int, int, int], ...]:
        """`by_program`, as recordings have it."""
        return tuple((*key, place) for key, place in self.by_program.items())

    def _place(self, probe: Probe) -> int:
        return self._places.setdefault(probe, len(self._places))

    def _fired_by(self, program: ProgramSpec, probe: Probe, attached: Mapping[int, Probe]) -> Probe:
        """The probe as the program is fired by it."""
        own = attached.get(probe.id)
        if own is None or isinstance(probe.firing, Syscall):
            return probe
        if program.filters and isinstance(own.firing, RawTracepoint):
            return own._replace(firing=own.firing._replace(filtered=True))
        return own


class KernelFirings:
    """The FiringSource of such a session; `keeper`, if it is set, writes the file."""

    origin = KERNEL
    path = ""
    damage = remainder = ""
    progress = (0, 0)

    def __init__(
        self, tracing: Tracing, spec: TracingSpec, places: ProbePlaces, process: int, reads_more: bool,
        stacks: str = BY_FRAMES,
    ) -> None:  # fmt: skip
        self._tracing, self._spec, self._places = tracing, spec, places
        self.probes = tuple(places.probes)
        self._names = {at: each.firing.name for at, each in enumerate(self.probes) if isinstance(each.firing, Internal)}
        self.process, self.reads_more, self.stacks = process, reads_more, stacks
        self._kept_stacks: kept_stacks.KeptStacks | None = None
        if stacks == AS_BYTES:
            self._kept_stacks = kept_stacks.KeptStacks(objects.Objects())
        self.realtime_offset = realtime_offset()
        self.began = monotonic_ns()
        self.formats: dict[tuple[str, str], str] = {}
        self.names: tuple[OtherNames, ...] = ()
        self.lost = 0
        self.is_over = False
        self.keeper: FiringKeeper | None = None
        self._items: deque[bytes | RingPiece | ProcessEvent] = deque()
        """Records of firings, alone or as they stood in the ring, and what processes did."""
        self._decode = FiringDecoder(places.by_program)
        self._late: deque[ProcessEvent] = deque()
        """What happened behind the last record."""
        self._kept = 0
        self._broken_off: dict[tuple[int, int], RecordedFiring] = {}
        self._internal: dict[str, RecordedFiring] = {}
        self._ready: deque[Happening] = deque()
        self._events: ProcessEvents | None = None
        self._has_stopped = False
        self._seen: set[int] = set()

    @property
    def descriptors(self) -> Sequence[int]:
        return ()

    def file(self, name: str) -> str:
        """Processes run as they are recorded."""
        return name

    def note_processes(self, traced: Iterable[int]) -> None:
        """What processes map is part of the recording, from what these have mapped by now."""
        self._events = self._tracing.process_events()
        for pid in traced:
            self._look_at(pid, self.began)

    def start(self) -> None:
        self._tracing.attach()
        if any(each.name == "BEGIN" for each in self._spec.programs):
            self._tracing.run("BEGIN")
        ((_, value),) = self._tracing.read_map("state")
        if not int.from_bytes(value[:4], "little"):
            self._set_activity(ACTIVE)

    def adopt_descendants(self, pid: int) -> None:
        if any(each.name == FAMILY for each in self._spec.maps):
            self._tracing.adopt_descendants(pid)

    def finish(self) -> None:
        """Nothing fires any more, but END."""
        if self._has_stopped:
            return
        self._has_stopped = True
        self._set_activity(DRAINING)
        if any(each.name == "END" for each in self._spec.programs):
            self.drain()
            self._tracing.run("END")
        self._set_activity(STOPPED)
        self.drain(True)
        self.lost = self._losses()

    def happenings(self) -> Iterator[Happening]:
        while True:
            self.drain()
            if not (self._ready or self._items):
                break
            until = monotonic_ns() + _INTERVAL
            while self._ready or self._items:
                happened = self._ready.popleft() if self._ready else self._next()
                if happened is not None:
                    yield happened
                if monotonic_ns() > until:
                    break
        if self._has_stopped:
            yield from self._broken_off.values()
            self._broken_off = {}
            self.is_over = True

    def symbolizer(self, demangles: bool) -> SystemSymbolizer | None:
        """This machine's."""
        return None

    def internal(self, name: str) -> RecordedFiring | None:
        """The record of BEGIN's program is the first of all, that of END's the last."""
        self.drain(name != "BEGIN")
        while name == "BEGIN" and self._items and name not in self._internal:
            happened = self._next()
            if happened is not None:
                self._ready.append(happened)
        return self._internal.pop(name, None)

    def _next(self) -> Happening | None:
        """Of the first item, None if it is a part of one that follows."""
        item = self._items[0]
        if isinstance(item, RingPiece):
            record = next(item.records, None)
            if record is not None:
                return self._taken(record)
            self._kept -= item.size
        self._items.popleft()
        if isinstance(item, bytes):
            self._kept -= len(item)
            return self._taken(item)
        if isinstance(item, RingPiece):
            return None
        if self._kept_stacks is not None:
            self._kept_stacks.take(item)
        return item

    def drain(self, all_of_them: bool = False) -> None:
        """Take the rings' records, and write them down, before they are full. What processes did before is read behind
        them, so that it is all there, and told in the order of time."""
        found: list[bytes] = []
        until = monotonic_ns() - _UNDERWAY
        takes, keeper = self._takes_rings(), self.keeper
        most = sys.maxsize if takes and keeper is not None and keeper.can_give_back else _MOST_KEPT
        for ring in self._tracing.rings:
            if self._kept > most and not all_of_them:
                until = 0
                break
            view = ring.read()
            if not view:
                continue
            size = len(view) if takes or all_of_them else _whole_records(view)
            if size < len(view):
                # What is left may be older than all that processes did since.
                until = 0
            found.append(bytes(view[:size]))
            view.release()
            ring.advance(size)
        if self._events is not None:
            self._late.extend(self._events.read())
        for data in found:
            if takes:
                self._take(data)
            else:
                self._split(data)
        while self._late and (self._has_stopped or self._late[0].time < until):
            self._tell(self._late.popleft())
        if self.keeper is not None:
            self.keeper.rest()

    def close(self) -> None:
        self._tracing.close()

    def _takes_rings(self) -> bool:
        """Whether nobody looks at each record before it is written down."""
        return self._events is None and (self.keeper is None or self.keeper.takes_rings)

    def _take(self, data: bytes) -> None:
        """What was read at once stays together: to look at each record takes longer than to write them all."""
        if self.keeper is not None and self._kept > _MOST_KEPT and self.keeper.can_give_back:
            # The script is late. What it is to run on is read from the file when it has come so far.
            self._items.append(RingPiece(self.keeper.kept_ring(data), 0))
            return
        self._items.append(RingPiece(ring_records(data), len(data)))
        self._kept += len(data)
        if self.keeper is not None:
            self.keeper.ring(data)

    def _split(self, data: bytes) -> None:
        for record in ring_records(data):
            if self._events is not None:
                self._precede(record)
            self._items.append(record)
            self._kept += len(record)
            if self.keeper is not None:
                self.keeper.firing(self._placed(record))

    def _precede(self, record: bytes) -> None:
        """What happened before a firing, and what its process has mapped that was there before."""
        (now,) = struct.unpack_from("<Q", record, layout.TIME_AT)
        while self._late and self._late[0].time <= now:
            self._tell(self._late.popleft())
        (pid,) = struct.unpack_from("<I", record, layout.PIDS_AT + 4)
        if pid not in self._seen:
            self._look_at(pid, now)

    def _look_at(self, pid: int, now: int) -> None:
        self._seen.add(pid)
        try:
            mappings = parse_maps(maps_text(pid))
        except (OSError, ValueError):
            return
        if mappings:
            snapshot = MappingsSnapshot(now, pid, 0, tuple(each for each in mappings if each.executable))
            self._tell(snapshot)

    def _tell(self, event: ProcessEvent) -> None:
        if isinstance(event, Executed):
            self._seen.add(event.pid)
        elif isinstance(event, Forked):
            if event.parent not in self._seen:
                self._look_at(event.parent, event.time)
            self._seen.add(event.pid)
        elif isinstance(event, Exited):
            self._seen.discard(event.pid)
        self._items.append(event)
        if self.keeper is not None:
            self.keeper.event(event)

    def _placed(self, record: bytes) -> bytes:
        """With the place of its probe in the place of the program and the probe's identifier."""
        probe, cpu, flags = struct.unpack_from("<III", record, 4)
        place = self._places.by_program[flags >> layout.PROGRAM_SHIFT, probe]
        return record[:4] + struct.pack("<III", place, cpu, flags & layout.FLAGS) + record[16:]

    def _taken(self, record: bytes) -> RecordedFiring | None:
        fired, flags = self._decode(record)
        key = fired.thread.tid, fired.probe
        if flags & layout.BROKEN_OFF:
            self._broken_off[key] = fired
            return None
        if flags & layout.CONTINUED:
            begun = self._broken_off.pop(key, None)
            if begun is None:
                return None
            fired = joined(begun, fired)
        if fired.probe in self._names:
            self._internal[self._names[fired.probe]] = fired
            return None
        return walked_later(fired, self._kept_stacks) if self._kept_stacks is not None else fired

    def _losses(self) -> int:
        """Firings that found no room, or no scratch memory."""
        words = len(COUNTERS)
        total = 0
        for _, value in self._tracing.read_map("counters"):
            numbers = struct.unpack(f"={len(value) // 8}Q", value)
            for name in ("records", "nested"):
                total += sum(numbers[COUNTERS.index(name) :: words])
        return total

    def _set_activity(self, activity: int) -> None:
        ((key, value),) = self._tracing.read_map("state")
        self._tracing.write_map("state", key, activity.to_bytes(4, "little") + value[4:])


def _whole_records(view: memoryview) -> int:
    """The bytes of the records at the beginning that are looked at together."""
    at = 0
    while at < min(len(view), _AT_ONCE):
        (head,) = struct.unpack_from("<I", view, at)
        at += record_size(head)
    return at
