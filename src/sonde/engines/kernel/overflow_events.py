"""The perf events whose overflows programs handle, and the samples that those let through.

An event counts what runs on a CPU, or what the threads of a process and all that they start do there: one event for
each CPU either way, since the ring of an inherited event has to be a CPU's (perf_mmap, kernel/events/core.c).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence

from sonde.engines.kernel import perf_events, sample_rings, trace_events
from sonde.engines.kernel.failures import explain
from sonde.engines.kernel.limits import allow_more_descriptors
from sonde.engines.kernel.perf_events import Opening
from sonde.engines.kernel.programs import LoadedProgram
from sonde.formats import perf_events as perf
from sonde.machine import event_sources, proc
from sonde.machine.system import online_cpus
from sonde.model.errors import EngineError
from sonde.model.probe import BREAKPOINT, PerfEvent, Probe, Timer, Tracepoint
from sonde.model.samples import CLOCKS, SAMPLE_TYPE, SampledEvent, SampleRequest, Take
from sonde.model.spec import ProgramSpec
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.engines.kernel.sample_rings import SampleRings


class OverflowEvents:
    """Opens the events of one session, and is its `Samples` where programs let some through. Owns rings and events."""

    def __init__(self, request: SampleRequest | None, samples: bool, cpu: int | None = None) -> None:
        """`samples`: some program lets samples through; with `cpu` events are opened there alone. Raises
        EngineError."""
        self.events: list[SampledEvent] = []
        self.lost_beside = 0
        self._lost: int | None = None
        self._request = request = request or SampleRequest()
        self._cpus = online_cpus() if cpu is None else (cpu,)
        self._open: list[int] = []
        self._timers: list[tuple[int, int]] = []
        self._rings: sample_rings.SampleRings | None = None
        if samples:
            try:
                self._rings = sample_rings.SampleRings(self._cpus, request.ring_bytes)
            except OSError as error:
                raise explain(error, "cannot make the rings of samples") from None

    @property
    def has_rings(self) -> bool:
        return self._rings is not None

    def attach(self, program: LoadedProgram, probe: Probe, hold: Callable[[int], None]) -> None:
        """Open the probe's events; `hold` attaches the program to each, where it has to be, and takes it over. Raises
        OSError."""
        firing = probe.firing
        assert isinstance(firing, (Timer, PerfEvent, Tracepoint))
        places = self._places(firing)
        opening = self._opening(firing, program.spec, inherits=any(process >= 0 for process, _ in places))
        allow_more_descriptors(_DESCRIPTORS * len(places))
        ids: list[int] = []
        opened = 0
        for process, cpu in places:
            try:
                event = perf_events.open_overflow(opening, process, cpu)
            except ProcessLookupError:
                # A thread that has ended since it was listed.
                continue
            opened += 1
            if isinstance(firing, Timer):
                # Of its own, since `hold` may close the other.
                self._timers.append((os.dup(event), firing.period))
            if self._rings is not None and opening.samples:
                ids.append(self._redirect(event, self._rings, cpu, _shares_data(firing)))
            hold(event)
        if not opened:
            raise ProcessLookupError(errno.ESRCH, "all threads have ended")
        if ids:
            self.events.append(SampledEvent(str(probe), bytes(perf_events.attributes(opening)), tuple(ids)))

    def restart_timers(self) -> None:
        """The period of each begins anew. Once."""
        while self._timers:
            event, period = self._timers.pop()
            try:
                perf_events.set_period(event, period)
            finally:
                os.close(event)

    def _opening(self, firing: Timer | PerfEvent | Tracepoint, spec: ProgramSpec, inherits: bool) -> Opening:
        if isinstance(firing, Timer):
            opening = perf_events.clock(firing.period)
        elif isinstance(firing, Tracepoint):
            number = trace_events.number_of(firing.group, firing.name)
            opening = Opening(perf_events.TYPE_TRACEPOINT, (number, 0, 0), firing.period)
        else:
            mode = firing.mode
            opening = Opening(
                _type_of(firing.source),
                firing.config,
                firing.period,
                no_user=mode == "kernel",
                no_kernel=mode == "user",
            )
        sample_type = spec.sample_fields
        if spec.samples:
            sample_type |= SAMPLE_TYPE | self._request.sample_type
            # Of a trace event the record, as perf has it.
            sample_type |= perf.SAMPLE_RAW if isinstance(firing, Tracepoint) else 0
            if _overflows_at_each(firing):
                sample_type &= ~perf.SAMPLE_PERIOD
        return opening._replace(sample_type=sample_type, samples=spec.samples, inherits=inherits)

    def _redirect(self, event: int, rings: SampleRings, cpu: int, is_own: bool) -> int:
        """Have an event write to a ring of that CPU, or to one of its own; what its samples call it. It is closed if
        that fails."""
        number = len(self.events)
        try:
            perf_events.set_output(event, rings.own_output(cpu, number) if is_own else rings.output(cpu))
            identifier = perf_events.identifier(event)
            if is_own:
                rings.identify(cpu, number, identifier)
            self._open.append(os.dup(event))
        except BaseException:
            os.close(event)
            raise
        return identifier

    def _places(self, firing: Timer | PerfEvent | Tracepoint) -> Sequence[tuple[int, int]]:
        """(process or thread, CPU) for each event, as perf_event_open(2) takes them."""
        request = self._request
        processes = request.processes
        if isinstance(firing, Timer):
            if not firing.every_cpu:
                return [(-1, self._cpus[0])]
            processes = processes if request.follows else ()
        elif isinstance(firing, PerfEvent) and (shared := event_sources.cpus(firing.source)):
            there = [(-1, cpu) for cpu in shared if cpu in self._cpus]
            if not there:
                raise EngineError(f"events of {firing.source} are counted on CPU {shared[0]}, not on that of -xcpu")
            return there
        if not processes:
            return [(-1, cpu) for cpu in self._cpus]
        threads = [thread for pid in processes for thread in _threads(pid)]
        return [(thread, cpu) for thread in threads for cpu in self._cpus]

    def begin(self, records: SampledEvent | None = None) -> None:
        """All events are attached. Where all that is in perf rings is taken, `records` is what programs write records
        with, None where they write them elsewhere."""
        if self._rings is not None:
            if self._request.take is not None:
                self.events += [*([records] if records is not None else []), self._rings.side_band]
            self._rings.enable()

    @property
    def descriptors(self) -> Sequence[int]:
        """Readable when a ring has filled in part."""
        return self._rings.descriptors if self._rings is not None else ()

    def drain(self, take: Take) -> None:
        """Hand over all that is in the rings."""
        if self._rings is not None:
            self._rings.drain(take)

    def stop(self) -> None:
        """Disabling an event waits for the CPU it counts on, so that nothing is written behind it."""
        if self._rings is None:
            return
        for event in self._open:
            perf_events.disable(event)
        self._rings.disable()
        # What found a ring full at the very end no record tells of, nor does any tell what it was.
        self._lost = perf_events.lost_records(self._open)
        self.lost_beside = self._rings.lost_beside()

    @property
    def lost(self) -> int:
        """The samples that found a ring full; on kernels that do not tell (before Linux 6.0), all records."""
        if self._lost is None and self._rings is not None:
            return self._rings.lost
        return self._lost or 0

    def close(self) -> None:
        """Closing twice is harmless."""
        for event in (*self._open, *(event for event, _ in self._timers)):
            os.close(event)
        self._open, self._timers = [], []
        if self._rings is not None:
            self._rings.close()
            self._rings = None


_DESCRIPTORS = 3
"""The link that holds an event, of one whose samples are read the event itself, and a timer's until it restarts."""

_KINDS = {"hardware": perf_events.TYPE_HARDWARE, "software": perf_events.TYPE_SOFTWARE, "hw-cache": 3}
"""enum perf_type_id of what is no directory of event sources; 3 is PERF_TYPE_HW_CACHE."""


def _overflows_at_each(firing: Timer | PerfEvent | Tracepoint) -> bool:
    """Whether the event would overflow each time it happens, whatever its period, were its samples to have the period:
    so do those that the kernel counts one by one (perf_swevent_event, kernel/events/core.c)."""
    if isinstance(firing, PerfEvent):
        return firing.source == BREAKPOINT or (firing.source == "software" and firing.config[0] not in CLOCKS)
    return isinstance(firing, Tracepoint)


def _shares_data(firing: Timer | PerfEvent | Tracepoint) -> bool:
    """Whether the kernel fills one struct perf_sample_data for all events that count the same (`sample_rings.py`)."""
    return isinstance(firing, PerfEvent) and firing.source == "software" and firing.config[0] not in CLOCKS


def _type_of(source: str) -> int:
    return _KINDS[source] if source in _KINDS else event_sources.number(source)


def _threads(pid: int) -> list[int]:
    """The threads of a process. Raises EngineError."""
    try:
        return list(proc.threads(pid))
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ESRCH):
            raise EngineError(f"process {pid} has ended before it could be traced") from None
        raise explain(error, f"cannot list the threads of process {pid}") from None
