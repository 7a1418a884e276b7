"""Perf events of the embedded engine: what samples are written for, and who sees them first (kernel/events/core.c)."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping

from sonde.bpf import programs
from sonde.formats import perf_events as perf
from sonde.runtime.perf.attributes import Attributes, check
from sonde.runtime.perf.handlers import HandlerProgram, HandlerSlot
from sonde.runtime.perf.layout import SampleLayout
from sonde.runtime.perf.raw import Fragment, RawRecord
from sonde.runtime.perf.ring import PerfRing, RecordSlot
from sonde.runtime.perf.sample import Sample
from sonde.runtime.perf.trace_events import event_numbered


class OpenPerfEvent:
    """One event. `number` is what its records call it, `cpu` the one it counts on.

    `handlers` is the place of a program that handles its overflows, `original` what handles them without one, or when
    the program says so too. `lost` counts the samples, also of inherited events, that found
    the ring full.
    """

    def __init__(
        self, attributes: Attributes, number: int = 1, cpu: int = 0, parent: OpenPerfEvent | None = None,
        original: Callable[[Sample], int] | None = None,
    ) -> None:  # fmt: skip
        check(attributes)
        self.attributes = attributes
        self.layout: SampleLayout = parent.layout if parent else SampleLayout(attributes)
        self.number = number
        self.cpu = cpu
        self.parent = parent
        self.handlers: HandlerSlot = _slot(attributes) if parent is None else parent.handlers
        self.original = original or self.output
        self.lost = 0
        root = parent.number if parent else number
        self._identity = {"id": root, "identifier": root, "stream_id": number, "cpu": cpu}
        self._ring: PerfRing | None = None

    def inherit(self, number: int) -> OpenPerfEvent | None:
        """The event of a task that a task of this one started, None where attr.inherit is not set.

        It writes into the ring of the event it comes from, under that one's number, and has its handler: the same one,
        whatever becomes of it (inherit_event, kernel/events/core.c, and one slot for all).
        """
        if not self.attributes.inherit:
            return None
        root = self.parent or self
        original = None if root.original == root.output else root.original
        return OpenPerfEvent(self.attributes, number, self.cpu, root, original)

    def attach(self, program: HandlerProgram, cookie: int = 0) -> None:
        """Make the program the overflow handler, as the ioctl PERF_EVENT_IOC_SET_BPF does.

        Raises OSError: EINVAL, EEXIST (handlers.py); EINVAL for an inherited event, which is not anybody's to change.
        """
        self._owned().attach(program, cookie)

    def replace(self, program: HandlerProgram, cookie: int = 0, expected: HandlerProgram | None = None) -> None:
        """Another program in the place of the handler, between two samples. Raises OSError (handlers.py)."""
        self._owned().replace(program, cookie, expected)

    def detach(self) -> None:
        """Take the program off, here and from all that inherited it. Raises OSError (handlers.py)."""
        self._owned().detach()

    def _owned(self) -> HandlerSlot:
        if self.parent is not None:
            raise OSError(errno.EINVAL, "an inherited event has the overflow handler of the event it comes from")
        return self.handlers

    def map(self, pages: int) -> memoryview:
        """Make the ring, with `pages` of data, a power of 2: its control page and data. Raises ValueError."""
        self._ring = PerfRing(pages, self.attributes.wakeup_watermark)
        return self._ring.memory

    def redirect(self, other: OpenPerfEvent) -> None:
        """Write to the ring of another event from now on, as the ioctl PERF_EVENT_IOC_SET_OUTPUT does."""
        self._ring = other.ring

    @property
    def ring(self) -> PerfRing | None:
        """Where its records go, None as long as nobody has mapped it."""
        return self.parent._ring if self.parent else self._ring

    @property
    def lost_size(self) -> int:
        """The bytes of a PERF_RECORD_LOST of this event."""
        return self.layout.lost.size

    def lost_record(self, count: int, values: Mapping[str, int]) -> bytes:
        """PERF_RECORD_LOST: u64 id, u64 how many, and what tells whose it is where attr.sample_id_all asks for that."""
        fields = self.layout.lost
        return fields.pack(values, perf.RECORD_LOST, 0, fields.size, self._identity["id"], count)

    def output(self, sample: Sample) -> int:
        """Write the sample into the ring: 0 or -errno (perf_event_output)."""
        begun = self._begin(sample)
        if isinstance(begun, int):
            return begun
        ring, slot, head = begun
        try:
            sample.write(slot, self.layout, head)
            if self.attributes.wakeup_events:
                ring.count_event(self.attributes.wakeup_events)
        finally:
            slot.end()
        return 0

    def reserve(self, sample: Sample, size: int) -> int:
        """Room for the sample with `size` raw bytes, which the caller stores: where they begin in the ring's `direct`,
        until the ring's `commit` of that; or -errno."""
        if not self.layout.has_raw:
            return -errno.EINVAL
        sample.raw = RawRecord(Fragment(size))
        begun = self._begin(sample)
        if isinstance(begun, int):
            return begun
        ring, slot, head = begun
        header = slot.at
        sample.write(slot, self.layout, head)
        at = (header + len(head)) % ring.size
        ring.keep_open(header, at, self.attributes.wakeup_events)
        return at

    def _begin(self, sample: Sample) -> tuple[PerfRing, RecordSlot, bytes] | int:
        """The ring, the sample's slot in it, and what it begins with; or -errno."""
        sample.values.update(self._identity)
        size = sample.prepare(self.layout)
        if size > perf.MAX_RECORD:
            # The kernel lets the u16 size of the header wrap, and the ring is unreadable from there on.
            return -errno.E2BIG
        ring = self.ring
        if ring is None:
            return -errno.ENOSPC
        head = sample.head(self.layout)
        slot = ring.begin(size, self, sample.values)
        if slot is None:
            (self.parent or self).lost += 1
            return -errno.ENOSPC
        return ring, slot, head


def _slot(attributes: Attributes) -> HandlerSlot:
    """A place for programs of the type that handles such an event. Raises OSError."""
    if attributes.type != perf.TYPE_TRACEPOINT:
        return HandlerSlot()
    event = event_numbered(attributes.config)
    if event is None:
        raise OSError(errno.EINVAL, f"the embedded engine has no trace event {attributes.config}")
    return HandlerSlot(programs.TRACEPOINT, event.size)


def open_event(
    attributes: Attributes, loaded: Mapping[int, HandlerProgram], number: int = 1, cpu: int = 0, cookie: int = 0
) -> OpenPerfEvent:
    """An event with the handler that its attributes name, if they do, attached with the cookie: `config1` is its
    descriptor, by which it is found in `loaded`.

    Raises OSError: EINVAL (attributes.py, handlers.py), EACCES (handlers.py), EBADF if there is no such program.
    """
    event = OpenPerfEvent(attributes, number, cpu)
    if attributes.handler:
        program = loaded.get(attributes.config1)
        if program is None:
            raise OSError(errno.EBADF, f"config1 names no program: {attributes.config1}")
        event.attach(program, cookie)
    return event
