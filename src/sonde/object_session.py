"""One run of the programs of a BPF object: load, attach, show what they write, until the end."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from sonde.bpf import maps, programs
from sonde.engines.kernel.engine import KernelEngine
from sonde.engines.kernel.perf_outputs import PerfOutput
from sonde.engines.kernel.tracing import KernelTracing
from sonde.objects import printk
from sonde.objects.frame import LOST
from sonde.objects.front_end import Loadable
from sonde.report.object_text import ObjectReport
from sonde.signals import Signals
from sonde.target.machine import possible_cpus
from sonde.traced import Traced

BATCH = 0.01
"""Seconds in which records gather behind a wake-up."""
IDLE = 0.2
"""Longest sleep, so that the end of a traced process is noticed in time."""

_BUSY, _DISCARD = 1 << 31, 1 << 30


class ObjectSession:
    """Runs a loadable object to its end. `traced` are processes whose end ends it, let go once all is attached."""

    def __init__(
        self, loadable: Loadable, engine: KernelEngine, report: ObjectReport, traced: Sequence[Traced]
    ) -> None:
        """Raises EngineError."""
        self._loadable = loadable
        self._report = report
        self._traced = list(traced)
        spec = loadable.spec
        if any(printk.prints(each) for each in spec.programs):
            more, catcher = printk.catcher(len(spec.probes) + 1)
            spec = spec._replace(
                maps=(*spec.maps, *more), programs=(catcher, *spec.programs), rings=(*spec.rings, printk.RING)
            )
        self._spec = spec
        self._tracing: KernelTracing = engine.load(spec)
        self._is_fired = any(each.attach_type != programs.TRACE_ITER for each in loadable.requests.values())
        self._outputs: dict[str, PerfOutput] = {}
        self._own_code: list[tuple[int, int]] = []

    def run(self, shows_maps: bool) -> None:
        """Until SIGINT, SIGTERM, or the end of what is traced; then, if asked for, the maps."""
        signals = Signals()
        try:
            self._open_outputs()
            self._tracing.attach()
            for program in self._loadable.spec.programs:
                self._own_code += self._tracing.program_code(program.name)
            for each in self._traced:
                each.resume()
            self._follow(signals)
            self._drain()
            self._show_losses()
            for name, wanted in self._loadable.requests.items():
                if wanted.attach_type == programs.TRACE_ITER:
                    self._report.written(self._tracing.iterate(name, wanted.iterated))
            if shows_maps:
                self._show_maps()
            self._report.flush()
        finally:
            signals.close()
            self.close()

    def _open_outputs(self) -> None:
        used = {name for program in self._spec.programs for _, name in program.map_references}
        for spec in self._loadable.spec.maps:
            if spec.kind == maps.PERF_EVENT_ARRAY and spec.name in used:
                self._outputs[spec.name] = self._tracing.perf_output(spec.name)

    def _follow(self, signals: Signals) -> None:
        alive = {each.descriptor for each in self._traced}
        written = tuple(each for output in self._outputs.values() for each in output.descriptors)
        while not signals.asked and (alive or self._is_fired):
            ready = self._tracing.wait(IDLE, (signals.descriptor, *alive, *written))
            self._drain()
            self._report.flush()
            if alive:
                alive -= set(ready)
                if not alive:
                    return
            if not signals.asked:
                self._tracing.pause(BATCH)

    def _drain(self) -> None:
        for name, ring in zip(self._spec.rings, self._tracing.rings, strict=True):
            data = ring.read()
            for record in _records(data):
                if name != printk.RING:
                    self._report.record(name, record)
                    continue
                text, frames = printk.printed(record)
                if printk.is_own(frames, self._own_code):
                    self._report.printed(text)
            ring.advance(len(data))
        for name, output in self._outputs.items():
            written = output.read()
            for record in written.records:
                self._report.record(name, record)
            self._report.lost(name, written.lost)

    def _show_losses(self) -> None:
        if printk.RING in self._spec.rings:
            ((_, value),) = self._tracing.read_map(printk.LOST)
            self._report.lost("bpf_printk", struct.unpack("=Q", value)[0])
        for name in self._loadable.frames:
            ((_, values),) = self._tracing.read_map(name)
            step = len(values) // possible_cpus()
            counts = [struct.unpack_from("=Q", values, at + LOST)[0] for at in range(0, len(values), step)]
            self._report.lost(name, sum(counts))

    def _show_maps(self) -> None:
        for spec in self._loadable.spec.maps:
            if spec.name in self._loadable.frames:
                continue
            self._report.map(spec, self._tracing.read_map(spec.name) if self._report.can_show(spec) else [])

    def close(self) -> None:
        for output in self._outputs.values():
            output.close()
        self._outputs = {}
        self._tracing.close()


def _records(data: memoryview) -> Iterator[bytes]:
    """What was submitted of a ring's bytes."""
    at = 0
    while at < len(data):
        (word,) = struct.unpack_from("=I", data, at)
        length = word & ~(_BUSY | _DISCARD)
        if not word & _DISCARD:
            yield bytes(data[at + 8 : at + 8 + length])
        at += (length + 15) & ~7
