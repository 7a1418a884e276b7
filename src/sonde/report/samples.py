"""The samples that programs let through, as lines of text: what is shown of them where no file takes them.

A line has thread name, process and thread, CPU, time in seconds, period, probe, and where the program was, like
perf-script(1). The ring of each CPU is in order; a line is shown when nothing earlier can come from another one.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic

from sonde.formats import perf_events as perf
from sonde.formats.perf_samples import PerfSample, decode_sample
from sonde.model.samples import SampledEvent
from sonde.model.units import MICROSECOND, SECOND
from sonde.report.stack import Addresses
from sonde.typed import NamedTuple
from sonde.untrusted import read_kernel

_HEADER = perf.HEADER
_SAMPLE_PERIOD = 16
"""Offset of attr.sample_period, behind which is attr.sample_type."""
_TRAILER_TIME = -24
"""Where a record that is no sample has its time, counted from its end: time, CPU, identifier."""
_TIME = 32
"""Offset in a sample with all of `samples.SAMPLE_TYPE`: header, identifier, ip, pid and tid, time."""
_WORD = struct.Struct("=Q")
_PATIENCE = 0.1
"""Seconds for showing samples between two looks at the rings."""
_MOST_WAITING = 500_000
"""So many samples may wait; where there are more, the rings have to."""
_MOST_PLACES = 100_000
_MODE = 7
"""PERF_RECORD_MISC_CPUMODE_MASK."""


class _Kept(NamedTuple):
    """A record that has been read: sorted by time, and as they were read where those are equal."""

    time: int
    number: int
    kind: int
    misc: int
    body: bytes


class SampleLines:
    """A `SampleSink` that prints. `write` takes the text, `escape` what a thread is called.

    Names take longer to find than samples to come, and rings are not read meanwhile: so a round shows no more than it
    has time for, and the rest waits here.
    """

    wants_names = True
    failure = ""

    def __init__(self, addresses: Addresses, write: Callable[[bytes], None], escape: Callable[[bytes], bytes]) -> None:
        self._addresses = addresses
        self._write = write
        self._escape = escape
        self._events: dict[int, tuple[bytes, int, int]] = {}
        """Of each its name, sample_type and period, which samples have where it is not always the same."""
        self._names: dict[int, bytes] = {0: b"swapper"}
        """Of threads by number; 0 is what runs on a CPU that has nothing to do, as perf calls it."""
        self._places: dict[tuple[int, int, bool], bytes] = {}
        self._new: list[_Kept] = []
        self._waiting: deque[_Kept] = deque()
        self._count = 0
        self._latest = self._settled = 0

    def begin(self, events: Sequence[SampledEvent]) -> None:
        for event in events:
            period, sample_type = struct.unpack_from("=QQ", event.attributes, _SAMPLE_PERIOD)
            self._events.update((number, (event.name.encode(), sample_type, period)) for number in event.ids)

    def records(self, cpu: int, data: memoryview) -> None:
        position = 0
        while position < len(data):
            kind, misc, size = _HEADER.unpack_from(data, position)
            record = bytes(data[position : position + size])
            position += size
            at = _TIME if kind == perf.RECORD_SAMPLE else size + _TRAILER_TIME
            (time,) = _WORD.unpack_from(record, at)
            self._count += 1
            self._new.append(_Kept(time, self._count, kind, misc, record[perf.HEADER_SIZE :]))
            self._latest = max(self._latest, time)

    def end_round(self) -> None:
        self._settle(self._settled)
        self._settled = self._latest
        end = monotonic() + _PATIENCE
        while self._waiting and (monotonic() < end or len(self._waiting) > _MOST_WAITING):
            self._take(self._waiting.popleft())

    def finish(self, lost: int) -> None:
        self._settle(self._latest)
        while self._waiting:
            self._take(self._waiting.popleft())

    def _settle(self, until: int) -> None:
        """Nothing can come before what is not later: it is in order."""
        self._new.sort()
        count = bisect_right(self._new, until, key=_time_of)
        self._waiting.extend(self._new[:count])
        del self._new[:count]

    def _take(self, record: _Kept) -> None:
        if record.kind == perf.RECORD_SAMPLE:
            self._sample(record)
        elif record.kind == perf.RECORD_COMM:
            _, tid = struct.unpack_from("=II", record.body)
            self._names[tid] = record.body[8:].partition(b"\0")[0]
            if record.misc & perf.MISC_COMM_EXEC:
                # The process has other code where it had this one.
                self._places.clear()
        elif record.kind == perf.RECORD_FORK:
            _, _, tid, maker = struct.unpack_from("=IIII", record.body)
            self._names[tid] = self._name(maker)
        elif record.kind == perf.RECORD_EXIT:
            (tid,) = struct.unpack_from("=I", record.body, 8)
            self._names.pop(tid, None)

    def _sample(self, record: _Kept) -> None:
        (identifier,) = _WORD.unpack_from(record.body)
        name, sample_type, period = self._events[identifier]
        sample = decode_sample(memoryview(record.body), sample_type)
        values = sample.fields
        seconds, rest = divmod(values["time"], SECOND)
        where = self._place(record.misc, values["pid"], values["ip"])
        self._write(
            b"%16s %5d/%-5d [%03d] %6d.%06d: %10d %s: %s\n"
            % (
                self._escape(self._name(values["tid"])), values["pid"], values["tid"], values["cpu"], seconds,
                rest // MICROSECOND, values.get("period", period), self._escape(name), where,
            )
        )  # fmt: skip
        if sample.callchain:
            self._chain(record.misc, sample)

    def _place(self, misc: int, pid: int, address: int, calls: bool = False) -> bytes:
        """The name of an address, `calls` of one that a call returns to."""
        kernel = misc & _MODE == perf.MISC_KERNEL
        key = (-1 if kernel else pid, address, calls)
        found = self._places.get(key)
        if found is None:
            if len(self._places) > _MOST_PLACES:
                self._places.clear()
            if kernel:
                found = self._addresses.kernel(address, calls=calls)
            else:
                found = self._addresses.user((pid, address), calls=calls)
            self._places[key] = found
        return found

    def _chain(self, misc: int, sample: PerfSample) -> None:
        """The callers, a line each, behind a mark for each of kernel and process."""
        calls = False
        for address in sample.callchain:
            if address >= perf.CONTEXT_MAX:
                misc = perf.MISC_KERNEL if address == _KERNEL_FOLLOWS else perf.MISC_USER
                calls = False
            else:
                self._write(b"%18s%s\n" % (b"", self._place(misc, sample.fields["pid"], address, calls)))
                calls = True

    def _name(self, tid: int) -> bytes:
        """A thread's name: as its records have told or, of one that was there before, as /proc has it."""
        if tid not in self._names:
            try:
                self._names[tid] = read_kernel(f"/proc/{tid}/comm")[:-1]
            except OSError:
                return b":%d" % tid
        return self._names[tid]


_KERNEL_FOLLOWS = (1 << 64) - 128
"""PERF_CONTEXT_KERNEL."""


def _time_of(record: _Kept) -> int:
    return record.time
