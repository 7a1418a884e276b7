"""One run of the programs of a BPF object: load, attach, show what they write, until the end."""

from __future__ import annotations

import struct
import time
from collections import deque
from collections.abc import Iterator, Sequence

from sonde.bpf import maps, programs
from sonde.engines.base import ObjectEngine, ObjectTracing, PacketFeed, PerfRecords
from sonde.formats.bpf_ring import DISCARD, LENGTH, RING_HEADER, record_size
from sonde.machine.system import possible_cpus
from sonde.model.named_maps import LOST_BREAKPOINTS, LOST_SWITCHES, LOST_TICKS, PRINTED, PRINTED_LOST, SKIPPED
from sonde.model.spec import TracingSpec, has_samples
from sonde.objects import printk
from sonde.objects.frame import LOST
from sonde.objects.front_end import Loadable
from sonde.report.object_sink import ObjectSink
from sonde.session.sample_flow import SampleFlow
from sonde.session.signals import Signals
from sonde.session.traced import Traced
from sonde.symbols import following
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.captures.object_packets import ObjectPackets
    from sonde.model.samples import SampleSink
    from sonde.session.participants import Asked
    from sonde.symbols.following import Following, NameSource

BATCH = 0.01
"""Seconds in which records gather behind a wake-up."""
IDLE = 0.2
"""Longest sleep, so that the end of a traced process is noticed in time."""

_AT_A_TIME, _MOST_TAKEN = 8, 1 << 15
"""Records that are shown between two looks at the rings; of which no more are taken before they are shown."""
_FULL = 16
"""A ring of which this part was full is looked at again at once."""

_NO_FIRING = {
    b"": "the program was running on that CPU already",
    LOST_TICKS: "ticks came faster than samples of them could be taken",
    LOST_SWITCHES: "threads changed faster than the kernel could tell",
    LOST_BREAKPOINTS: "breakpoints could not be where they should",
}
"""Why programs have not been fired, by the keys of SKIPPED."""


class ObjectSession:
    """Runs a loadable object to its end. `traced` are processes whose end ends it, let go once all is attached."""

    def __init__(
        self,
        loadable: Loadable,
        engine: ObjectEngine,
        report: ObjectSink,
        traced: Sequence[Traced],
        names: NameSource | None = None,
        samples: SampleSink | None = None,
        captures: ObjectPackets | None = None,
    ) -> None:
        """`names` is told what processes map, if the stacks of maps are to be shown, or samples. These go to `samples`,
        or are shown as lines. `captures` gets the packets of records, which the report would show else. Raises
        EngineError."""
        self._loadable = loadable
        self._captures = captures
        self._packet_arrays = packet_arrays(loadable.spec)
        report.for_packets(self._packet_arrays, captures)
        self._report = report
        self._traced = list(traced)
        self._names = names
        self._has_stacks = any(each.kind == maps.STACK_TRACE for each in loadable.spec.maps)
        self._following: Following | None = None
        spec = loadable.spec
        self._sampling = SampleFlow(samples or (report.sample_lines() if has_samples(spec) else None))
        if any(printk.prints(each) for each in spec.programs):
            catchers = () if engine.tells_printed else (printk.catcher(len(spec.probes) + 1),)
            spec = spec._replace(
                maps=(*spec.maps, *printk.RINGS), programs=(*catchers, *spec.programs), rings=(*spec.rings, PRINTED)
            )
        self._spec = spec
        self._room = {each.name: each.max_entries for each in spec.maps}
        self._largest: dict[str, int] = {}
        self._full: dict[str, int] = {}
        """Of each ring the size of the largest record that it has had, and how often there was no room for one more."""
        self._taken: deque[tuple[str, int, bytes]] = deque()
        self._is_filling = False
        self._tracing: ObjectTracing = engine.load(spec)
        self._is_fired = any(each.attach_type != programs.TRACE_ITER for each in loadable.requests.values())
        self._outputs: dict[str, PerfRecords] = {}
        self._own_code: list[tuple[int, int]] = []

    def run(self, shows_maps: bool, asked: Asked | None = None) -> None:
        """Until somebody asks for the end, signals where that is nobody else, or the end of what is traced; then, if
        wanted, the maps."""
        signals = asked or Signals()
        self._tracing.heed(lambda: signals.asked)
        try:
            self._open_outputs()
            follows = self._names is not None and self._needs_names(shows_maps)
            source = self._tracing.process_events() if follows else None
            refused = self._tracing.attach()
            if refused:
                self._report.left_out(refused)
            self._sampling.begin(self._tracing)
            if self._names is not None and follows:
                self._following = following.Following(source, self._names, [each.pid for each in self._traced])
            for program in self._loadable.spec.programs:
                self._own_code += self._tracing.program_code(program.name)
            for each in self._traced:
                each.resume()
            self._follow(signals)
            self._take()
            self._show(len(self._taken))
            self._sampling.stop()
            self._report.lost_samples(self._sampling.finish())
            self._show_losses()
            for name, wanted in self._loadable.requests.items():
                if wanted.attach_type == programs.TRACE_ITER:
                    self._report.written(self._tracing.iterate(name, wanted.iterated))
            if shows_maps:
                self._show_maps()
            self._report.flush()
            if self._captures is not None:
                self._captures.finish()
        finally:
            signals.close()
            self.close()

    def packets(self) -> PacketFeed | None:
        """The packets of a file that fired programs, None without one."""
        return self._tracing.packets()

    def _needs_names(self, shows_maps: bool) -> bool:
        """Whether it is to be known what processes map."""
        sink = self._sampling.sink
        return (self._has_stacks and shows_maps) or (sink is not None and sink.wants_names)

    def _open_outputs(self) -> None:
        used = {name for program in self._spec.programs for _, name in program.map_references}
        for spec in self._loadable.spec.maps:
            if spec.kind == maps.PERF_EVENT_ARRAY and spec.name in used:
                self._outputs[spec.name] = self._tracing.perf_output(spec.name, spec.name in self._packet_arrays)

    def _follow(self, signals: Asked) -> None:
        alive = {each.descriptor for each in self._traced}
        packets = self._tracing.packets()
        written = [each for output in self._outputs.values() for each in output.descriptors]
        written += self._following.descriptors if self._following is not None else ()
        written += self._sampling.descriptors
        while not signals.asked and (alive or self._is_fired):
            left = min(IDLE, max(signals.until - time.monotonic(), 0))
            ready = self._tracing.wait(0 if self._taken else left, (signals.descriptor, *alive, *written))
            self._keep_up()
            if self._following is not None:
                self._following.poll()
            self._sampling.drain()
            self._report.flush()
            if self._captures is not None:
                self._captures.flush()
            if self._sampling.has_failed or (self._captures is not None and self._captures.has_failed):
                return
            signals.turn()
            is_traced = bool(alive) or packets is not None
            alive -= set(ready)
            if is_traced and not alive and (packets is None or packets.is_over):
                return
            if not signals.asked and not self._taken and not self._is_filling:
                self._tracing.pause(BATCH)

    def _keep_up(self) -> None:
        """Show what has been written, for a while. Objects have small rings for large records: they are emptied again
        between a few that are shown."""
        self._is_filling = False
        end = time.monotonic() + IDLE
        self._take()
        while self._taken and time.monotonic() < end:
            self._show(min(_AT_A_TIME, len(self._taken)))
            if len(self._taken) < _MOST_TAKEN:
                self._take()

    def _take(self) -> None:
        """Copy what rings have, so that there is room in them again."""
        for name, ring in zip(self._spec.rings, self._tracing.rings, strict=True):
            with ring.read() as view:
                data = bytes(view)
            ring.advance(len(data))
            self._is_filling |= len(data) > self._room[name] // _FULL
            records = list(_records(data))
            self._notice_full(name, len(data), records)
            self._taken += ((name, 0, record) for record in records)
        for name, output in self._outputs.items():
            written = output.read()
            self._taken += ((name, *each) for each in zip(written.times, written.records, strict=True))
            self._report.lost(name, written.lost)

    def _notice_full(self, name: str, size: int, records: Sequence[bytes]) -> None:
        """A program whose record finds no room in a ring is told so, and nobody else: that there was none for one as
        large as others is all that can be known."""
        largest = self._largest[name] = max((self._largest.get(name, 0), *map(len, records)))
        if size + RING_HEADER + largest > self._room[name]:
            self._full[name] = self._full.get(name, 0) + 1

    def _show(self, count: int) -> None:
        """The next records that were taken."""
        for _ in range(count):
            name, moment, record = self._taken.popleft()
            if name != PRINTED:
                self._report.record(name, record, moment)
                continue
            text, frames = printk.printed(record)
            if printk.is_own(frames, self._own_code):
                self._report.printed(text)

    def _show_losses(self) -> None:
        for name, output in self._outputs.items():
            self._report.lost(name, output.lost_last())
        for name, times in self._full.items():
            if name != PRINTED:
                self._report.was_full(name, times, self._room[name])
        if PRINTED in self._spec.rings:
            ((_, value),) = self._tracing.read_map(PRINTED_LOST)
            self._report.lost("bpf_printk", struct.unpack("=Q", value)[0])
        for name in self._loadable.frames:
            ((_, values),) = self._tracing.read_map(name)
            step = len(values) // possible_cpus()
            counts = [struct.unpack_from("=Q", values, at + LOST)[0] for at in range(0, len(values), step)]
            self._report.lost(name, sum(counts))
        for key, value in self._tracing.read_map(SKIPPED):
            self._report.lost_firings(_NO_FIRING[key], int.from_bytes(value, "little"))

    def _show_maps(self) -> None:
        found = [
            (spec, self._tracing.read_map(spec.name) if self._report.can_show(spec) else [])
            for spec in self._loadable.spec.maps
            if spec.name not in self._loadable.frames
        ]
        if self._following is not None:
            self._following.poll()
        self._report.maps(found)

    def close(self) -> None:
        for output in self._outputs.values():
            output.close()
        self._outputs = {}
        self._tracing.close()


def packet_arrays(spec: TracingSpec) -> list[str]:
    """The arrays of perf events that programs for packets write to."""
    used = {name for each in spec.programs if each.kind in programs.FOR_PACKETS for _, name in each.map_references}
    return [each.name for each in spec.maps if each.kind == maps.PERF_EVENT_ARRAY and each.name in used]


def _records(data: bytes) -> Iterator[bytes]:
    """What was submitted of a ring's bytes."""
    at = 0
    while at < len(data):
        (word,) = struct.unpack_from("=I", data, at)
        length = word & LENGTH
        if not word & DISCARD:
            yield data[at + RING_HEADER : at + RING_HEADER + length]
        at += record_size(word)
