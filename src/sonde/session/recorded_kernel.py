"""A session of the kernel that is recorded: its programs record their firings, which are written to a file and, here,
fire the script's own programs. So what the session shows is what a replay of its file shows."""

from __future__ import annotations

import struct
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from sonde.engines.base import FiringKeeper, ProcessEvents, Tracing
from sonde.engines.fired import KERNEL, Happening, RecordedFiring
from sonde.engines.firing_records import decode, joined
from sonde.formats.bpf_ring import DISCARD, LENGTH, RING_HEADER, record_size
from sonde.machine.system import realtime_offset
from sonde.model import firing_record as layout
from sonde.model.probe import Internal, Probe, RawTracepoint, StaticProbe, Syscall
from sonde.model.spec import ACTIVE, COUNTERS, DRAINING, FAMILY, STOPPED, TracingSpec
from sonde.symbols.mappings import parse_maps
from sonde.symbols.process_events import Executed, Forked, MappingsSnapshot, ProcessEvent
from sonde.typed import TYPE_CHECKING
from sonde.untrusted import kernel_text

if TYPE_CHECKING:
    from sonde.symbols.symbolizer import SystemSymbolizer

_MOST_KEPT = 256 << 20
"""Bytes of records that wait for the script's programs; more stay in the ring, or are lost there."""

_UNDERWAY = 20_000_000
"""A firing that is as many ns old is in its ring, or never will be."""

_HEAD = struct.Struct("<I")


class ProbePlaces:
    """The places in a recording of the probes that programs record firings of: by program and probe, since one probe
    may be fired in several ways."""

    def __init__(self, spec: TracingSpec) -> None:
        self._spec = spec
        self._programs = {each.name: each for each in spec.programs}
        self.probes: list[Probe] = []
        self._known: dict[tuple[int, int], int] = {}
        for program in spec.programs:
            for probe in spec.probes:
                self._add(self._of(program.name, probe.id))
        for probe in spec.probes:
            if isinstance(probe.firing, StaticProbe):
                # What fires are its sites; scripts are compiled for all of them together.
                self._add(probe)

    def place(self, program: int, probe: int) -> int:
        """`program` is the number of its name among the spec's strings. Raises KeyError."""
        key = program, probe
        if key not in self._known:
            found = self._of(self._spec.strings[program].decode(), probe)
            if found is None:
                raise KeyError(key)
            self._known[key] = self.probes.index(found)
        return self._known[key]

    def _add(self, probe: Probe | None) -> None:
        if probe is not None and probe not in self.probes:
            self.probes.append(probe)

    def _of(self, name: str, identifier: int) -> Probe | None:
        """The probe of that identifier as the program is fired by it."""
        program = self._programs[name]
        known = [each for each in self._spec.probes if each.id == identifier]
        attached = [each.probe for each in program.probes if each.probe.id == identifier]
        if attached and not any(isinstance(each.firing, Syscall) for each in known):
            probe = attached[0]
            if program.filters and isinstance(probe.firing, RawTracepoint):
                return probe._replace(firing=probe.firing._replace(filtered=True))
            return probe
        return known[0] if known else None


class KernelFirings:
    """The FiringSource of such a session; `keeper`, if it is set, writes the file."""

    origin = KERNEL
    path = ""
    damage = ""

    def __init__(
        self, tracing: Tracing, spec: TracingSpec, places: ProbePlaces, process: int, reads_more: bool
    ) -> None:
        self._tracing, self._spec, self._places = tracing, spec, places
        self.probes = tuple(places.probes)
        self._names = {at: each.firing.name for at, each in enumerate(self.probes) if isinstance(each.firing, Internal)}
        self.process, self.reads_more = process, reads_more
        self.realtime_offset = realtime_offset()
        self.began = time.monotonic_ns()
        self.formats: dict[tuple[str, str], str] = {}
        self.lost = 0
        self.is_over = False
        self.keeper: FiringKeeper | None = None
        self._items: deque[bytes | ProcessEvent] = deque()
        """Records of firings and what processes did, as they stand in the file."""
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
            while self._ready:
                yield self._ready.popleft()
            if not self._items:
                break
            happened = self._next()
            if happened is not None:
                yield happened
        if self._has_stopped:
            yield from self._broken_off.values()
            self._broken_off = {}
            self.is_over = True

    def symbolizer(self, demangles: bool) -> SystemSymbolizer | None:
        """This machine's."""
        return None

    def internal(self, name: str) -> RecordedFiring | None:
        """The record of BEGIN's program is the first of all, that of END's the last."""
        self.drain(True)
        while name == "BEGIN" and self._items and name not in self._internal:
            happened = self._next()
            if happened is not None:
                self._ready.append(happened)
        return self._internal.pop(name, None)

    def _next(self) -> Happening | None:
        """Of the first item, None if it is a part of one that follows."""
        item = self._items.popleft()
        if not isinstance(item, bytes):
            return item
        self._kept -= len(item)
        return self._taken(item)

    def drain(self, all_of_them: bool = False) -> None:
        """Take the rings' records, and write them down, before they are full. What processes did before is read behind
        them, so that it is all there, and told in the order of time."""
        found: list[bytes] = []
        until = time.monotonic_ns() - _UNDERWAY
        for ring in self._tracing.rings:
            if self._kept > _MOST_KEPT and not all_of_them:
                break
            view = ring.read()
            if not view:
                continue
            found.append(bytes(view))
            view.release()
            ring.advance(len(found[-1]))
        if self._events is not None:
            self._late.extend(self._events.read())
        for data in found:
            self._split(data)
        while self._late and (self._has_stopped or self._late[0].time < until):
            self._tell(self._late.popleft())
        if self.keeper is not None:
            self.keeper.flush()

    def close(self) -> None:
        self._tracing.close()

    def _split(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            (head,) = _HEAD.unpack_from(data, at)
            size = head & LENGTH
            start = at + RING_HEADER
            if not head & DISCARD:
                record = self._placed(data[start : start + size])
                if self._events is not None:
                    self._precede(record)
                self._items.append(record)
                self._kept += size
                if self.keeper is not None:
                    self.keeper.firing(record)
            at += record_size(head)

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
            mappings = parse_maps(kernel_text(f"/proc/{pid}/maps"))
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
        self._items.append(event)
        if self.keeper is not None:
            self.keeper.event(event)

    def _placed(self, record: bytes) -> bytes:
        """With the place of its probe in the place of the program and the probe's identifier."""
        probe, cpu, flags = struct.unpack_from("<III", record, 4)
        place = self._places.place(flags >> layout.PROGRAM_SHIFT, probe)
        return record[:4] + struct.pack("<III", place, cpu, flags & layout.FLAGS) + record[16:]

    def _taken(self, record: bytes) -> RecordedFiring | None:
        fired, flags = decode(record)
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
        return fired

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
