"""When a CPU is given to a traced thread and taken from it: the kernel's records of that (PERF_RECORD_SWITCH).

Everybody may have them of his own processes (kernel.perf_event_paranoid up to 2): they tell neither who runs instead
nor where the thread is, only whether it could have gone on.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from time import CLOCK_MONOTONIC

from sonde.engines.embedded.sources.inherited_events import InheritedEvents, open_for_each
from sonde.engines.kernel import perf_events
from sonde.formats import perf_events as perf
from sonde.machine.system import online_cpus
from sonde.typed import NamedTuple

_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 0, 1 << 1, 1 << 5, 1 << 6
_WATERMARK, _USE_CLOCKID = 1 << 14, 1 << 25
_FLAGS = (
    _DISABLED | _INHERIT | _EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR | _WATERMARK | _USE_CLOCKID
    | perf.FLAG_SAMPLE_ID_ALL | perf.FLAG_CONTEXT_SWITCH
)  # fmt: skip
_ATTRIBUTES = struct.Struct("=IIQQQQQI40xi")
"""struct perf_event_attr: type, size, config, period, sample_type, read_format, flags, wakeup, at 92 clockid."""

_IDENTITY = struct.Struct("=IIQ")
"""Behind each record, as sample_type says: process, thread, time."""


class Switch(NamedTuple):
    """A thread gets a CPU, or leaves it (`is_out`): though it could go on (`is_runnable`)."""

    time: int
    tid: int
    is_out: bool
    is_runnable: bool


class SwitchEvents:
    """`descriptors` are readable when a ring has filled in part. `lost` counts what found no room in it."""

    def __init__(self, tids: Iterable[int], others: int = 0) -> None:
        """Events of these threads and of all that they make, not yet enabled; `others`: rings that each CPU has
        besides. Raises OSError."""
        self._events = InheritedEvents(1 + others)
        open_for_each(tids, self._open, self.close)

    def _open(self, tid: int) -> None:
        attributes = bytearray(perf.ATTRIBUTES_SIZE)
        kinds = perf.SAMPLE_TID | perf.SAMPLE_TIME
        _ATTRIBUTES.pack_into(
            attributes, 0, perf.TYPE_SOFTWARE, len(attributes), perf.SOFTWARE_DUMMY, 0, kinds, perf.FORMAT_LOST,
            _FLAGS, self._events.watermark,
            CLOCK_MONOTONIC,
        )  # fmt: skip
        for cpu in online_cpus():
            self._events.add(perf_events.open_reporting_losses(attributes, tid, cpu), cpu)

    @property
    def descriptors(self) -> Sequence[int]:
        return self._events.descriptors

    @property
    def lost(self) -> int:
        return self._events.lost

    def enable(self) -> None:
        """Begin: for what has inherited them as well."""
        self._events.enable()

    def take(self) -> list[Switch]:
        """All that are there, of each CPU in the order of time."""
        found = []
        for record in self._events.read():
            if record.type == perf.RECORD_SWITCH:
                _, tid, time = _IDENTITY.unpack_from(record.body)
                out, runnable = record.misc & perf.MISC_SWITCH_OUT, record.misc & perf.MISC_SWITCH_OUT_PREEMPT
                found.append(Switch(time, tid, bool(out), bool(runnable)))
        return found

    def close(self) -> None:
        """Closing twice is harmless."""
        self._events.close()
