"""The samples that programs let through: one perf ring that all events of a session write to, and what is told beside
them, the names of the threads that were sampled."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from sonde.arch import pages, registers
from sonde.formats import perf_events as perf
from sonde.formats.perf_ring import PerfRingReader
from sonde.machine.system import monotonic_ns
from sonde.model.samples import SAMPLE_TYPE, SampledEvent, Take
from sonde.runtime.environment import Environment
from sonde.runtime.perf.attributes import Attributes
from sonde.runtime.perf.events import OpenPerfEvent, open_event
from sonde.runtime.perf.handlers import HandlerProgram
from sonde.runtime.perf.layout import Fields
from sonde.runtime.perf.sample import Sample

_OWNER = 1
"""The number of the event that the ring belongs to, and whose records tell of threads."""
_CPU = 0
_COMM = Fields("IHHII16s", perf.TRAILER_FIELDS, SAMPLE_TYPE)
"""PERF_RECORD_COMM: header, process, thread, TASK_COMM_LEN bytes of name (include/linux/sched.h), struct sample_id."""


class SampleRing:
    """The `Samples` of the engine: a ring of `size` bytes, a power of 2 of pages."""

    def __init__(self, environment: Environment, size: int) -> None:
        self.events: list[SampledEvent] = []
        self._environment = environment
        self._owner = OpenPerfEvent(Attributes(sample_type=SAMPLE_TYPE, sample_id_all=True), _OWNER)
        self._reader = PerfRingReader(self._owner.map(max(size // pages.PAGE, 1)))
        self._size = size
        self._sampled: list[OpenPerfEvent] = []
        self._told: dict[int, bytes] = {}

    def open(
        self, name: str, attributes: Attributes, loaded: Mapping[int, HandlerProgram], cookie: int = 0
    ) -> OpenPerfEvent:
        """An event whose samples are of the probe `name`, opened as `open_event` does. Raises OSError."""
        wanted = attributes._replace(sample_type=attributes.sample_type | SAMPLE_TYPE, sample_id_all=True)
        event = open_event(wanted, loaded, _OWNER + 1 + len(self._sampled), _CPU, cookie)
        event.redirect(self._owner)
        event.original = lambda sample: self._write(event, sample)
        self._sampled.append(event)
        self.events.append(SampledEvent(name, _as_kernel(wanted), (event.number,)))
        return event

    def values(self, period: int, taken: bytes) -> dict[str, int]:
        """What a sample of the firing under way has, by the names of perf_events.FIXED_FIELDS.

        `taken` is a struct pt_regs."""
        task = self._environment.task
        (ip,) = struct.unpack_from("=Q", taken, registers.PROGRAM_COUNTER)
        time = self._environment.now or monotonic_ns()
        return {"period": period, "ip": ip, "pid": task.pid, "tid": task.tid, "time": time}

    def _write(self, event: OpenPerfEvent, sample: Sample) -> int:
        """The event's own handler: 0, or -errno where the ring is full."""
        self._tell_name(sample.values)
        return event.output(sample)

    def _tell_name(self, values: dict[str, int]) -> None:
        """A PERF_RECORD_COMM before the first sample of a thread, and where it has another name since."""
        task, ring = self._environment.task, self._owner.ring
        if ring is None or self._told.get(task.tid) == task.comm:
            return
        slot = ring.begin(_COMM.size, self._owner, values)
        if slot is None:
            self._owner.lost += 1
            return
        identity = {**values, "cpu": _CPU, "identifier": _OWNER}
        slot.copy(_COMM.pack(identity, perf.RECORD_COMM, 0, _COMM.size, task.pid, task.tid, task.comm))
        slot.end()
        self._told[task.tid] = task.comm

    @property
    def lost(self) -> int:
        """Samples that found the ring full."""
        return sum(event.lost for event in self._sampled)

    @property
    def lost_beside(self) -> int:
        """Names of threads that did."""
        return self._owner.lost

    @property
    def descriptors(self) -> Sequence[int]:
        """None: the session looks at the ring when it is woken for other reasons, or before it is full."""
        return ()

    @property
    def is_filling(self) -> bool:
        """Whether it should be looked at before it is full."""
        return self._reader.size > self._size // 2

    def drain(self, take: Take) -> None:
        """Hand over all that is in the ring."""
        data = self._reader.unread()
        if data:
            take(_CPU, data)
            data.release()
        self._reader.advance()

    def stop(self) -> None:
        """Nothing happens between this and the last look."""

    def close(self) -> None:
        self._reader.close()


def _as_kernel(attributes: Attributes) -> bytes:
    """The struct perf_event_attr that says the same."""
    made = bytearray(perf.ATTRIBUTES_SIZE)
    struct.pack_into(
        "=IIQQQQQ", made, 0, attributes.type, len(made), attributes.config, attributes.sample_period,
        attributes.sample_type, 0, perf.FLAG_SAMPLE_ID_ALL,
    )  # fmt: skip
    return bytes(made)
