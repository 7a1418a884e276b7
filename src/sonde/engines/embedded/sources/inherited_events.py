"""Perf events of threads, which what they start inherits: one for each thread and CPU, with a ring for each CPU.

A ring of a thread's own would be none of what it starts (perf_mmap, kernel/events/core.c), so that an event is of one
CPU, where all events share the ring.
"""

from __future__ import annotations

import errno
import resource
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from sonde.arch import pages
from sonde.engines.kernel import perf_events
from sonde.engines.kernel.event_ring import EventRing, LockedMemoryError
from sonde.formats import perf_events as perf
from sonde.formats.perf_ring import BrokenRingError, PerfRecord
from sonde.machine.system import capabilities, online_cpus, setting

RING = 4 << 20
"""Bytes of a CPU's ring, if so much memory may be locked."""
_LOST = struct.Struct("=QQ")
"""PERF_RECORD_LOST: identifier, count."""

_LEAST = 1 << 16
"""Bytes of a ring at least: a sample with its stack takes a fourth."""


def ring_size(rings: int) -> int:
    """Bytes of a ring, a power of 2, of which each CPU has so many: as much for each as the limit on locked memory
    allows (perf_mmap, kernel/events/core.c), since the first ones would take all of it."""
    size = max(RING >> (rings - 1).bit_length(), _LEAST)
    each_cpu = setting("kernel/perf_event_mlock_kb")
    lockable, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if each_cpu is None or lockable == resource.RLIM_INFINITY or "ipc_lock" in capabilities():
        return size
    cpus = len(online_cpus())
    allowed = (each_cpu * 1024 * cpus + lockable) // (cpus * rings) - pages.PAGE
    while size > max(allowed, _LEAST):
        size //= 2
    return size


class InheritedEvents:
    """`descriptors` are readable when a ring has filled in part."""

    def __init__(self, sharing: int = 1) -> None:
        """`sharing`: how many such rings each CPU will have."""
        self._size = ring_size(sharing)
        self._broken = self._reported = self._final = 0
        """Rings whose content was lost, records that the kernel reported as lost, and `lost` once all is closed."""
        self._rings: dict[int, EventRing] = {}
        self._events: list[int] = []
        _raise_limit()

    @property
    def watermark(self) -> int:
        """Bytes in a ring after which readers are woken: attr.wakeup_watermark of its events."""
        return min(RING // 64, self._size // 4)

    @property
    def descriptors(self) -> Sequence[int]:
        return [ring.descriptor for ring in self._rings.values()]

    def add(self, event: int, cpu: int) -> None:
        """Take over the descriptor of an event that was opened for this CPU. Raises OSError."""
        if cpu in self._rings:
            self._events.append(event)
            perf_events.set_output(event, self._rings[cpu].descriptor)
        else:
            self._rings[cpu] = EventRing(event, self._size)

    def enable(self) -> None:
        """Begin: for what has inherited them as well."""
        for event in (*self.descriptors, *self._events):
            perf_events.enable(event)

    @property
    def lost(self) -> int:
        """Records that found a ring full, and rings that could not be read. Before Linux 6.0 the kernel reports those
        alone that another record of the ring came after."""
        if not self._rings:
            return self._final
        counted = perf_events.lost_records((*self.descriptors, *self._events))
        return self._broken + (self._reported if counted is None else counted)

    def read(self) -> Iterator[PerfRecord]:
        """All records that are there but for those of losses, of each CPU in the order of time; one is valid until the
        next."""
        for ring in self._rings.values():
            try:
                for record in ring.reader.read():
                    if record.type == perf.RECORD_LOST:
                        self._reported += _LOST.unpack_from(record.body)[1]
                    else:
                        yield record
            except BrokenRingError:
                self._broken += 1
                ring.reader.skip()
                continue
            ring.reader.advance()

    def close(self) -> None:
        """Closing twice is harmless."""
        self._final = self.lost
        perf_events.close_all(self._events)
        for ring in self._rings.values():
            ring.close()
        self._events, self._rings = [], {}


def open_for_each(tids: Iterable[int], open_events: Callable[[int], None], close: Callable[[], None]) -> None:
    """Open the events of each thread; close all of them where that fails. Raises OSError."""
    try:
        for tid in tids:
            # A thread that has ended meanwhile is no loss.
            with suppress(ProcessLookupError):
                open_events(tid)
    except BaseException:
        close()
        raise


_OWN = 2
"""kernel.perf_event_paranoid up to which everybody may have events of his own processes."""


def _raise_limit() -> None:
    """An event takes a descriptor for each thread and CPU."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def why_not(error: OSError) -> str:
    """Why there are no such events, and what would help."""
    if error.errno == errno.EMFILE:
        return "an event for each thread and CPU takes more descriptors than `ulimit -n` allows"
    if isinstance(error, LockedMemoryError):
        return (
            "the rings of its events, one for each CPU, are more memory than this user may lock: "
            "`ulimit -l` or sysctl kernel.perf_event_mlock_kb allows more"
        )
    if error.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS):
        level = setting("kernel/perf_event_paranoid")
        refused = f"perf_event_open(2) is refused ({error.strerror})"
        if level is not None and level <= _OWN:
            refused += f", though kernel.perf_event_paranoid is {level}:"
        else:
            refused += ": `sysctl kernel.perf_event_paranoid=2` permits it for one's own processes;"
        return f"{refused} a container needs a seccomp profile that permits it, or --cap-add=PERFMON"
    return f"perf_event_open(2): {error.strerror}"
