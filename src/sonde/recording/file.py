"""The perf.data file of a session: samples and the records of D programs as they stand in the rings, what processes
map and start, and in blocks of sonde's own what it takes to show the programs' records again.

After each round the header says how far the data go. A recording that is killed leaves a file of whole records.
"""

from __future__ import annotations

import os
import stat
import struct
import time
from collections.abc import Callable, Collection, Iterable, Sequence

from sonde.directory_walk import Place, place_of
from sonde.formats import perf_data, perf_data_blocks
from sonde.formats import perf_events as perf
from sonde.formats import perf_features as features
from sonde.formats import perf_made_records as made
from sonde.formats.perf_data import Event
from sonde.formats.perf_data_reader import PerfDataReader
from sonde.formats.raw_file import DESCRIPTION, MAP, RING
from sonde.machine.system import monotonic_ns, online_cpus, possible_cpus
from sonde.model import named_maps
from sonde.model.samples import SAMPLE_TYPE, SampledEvent
from sonde.recording import build_ids, hardware, running, trace_events
from sonde.recording.summary import Summary
from sonde.recording.unseen import parts
from sonde.written_files import empty, exists_at, open_at, remove_at, rename_at

UNSEEN = 64
"""A block that is the sample of a record of a program which perf need not see. The other kinds are those of raw files;
the content of RING is how many bytes of records, as they stand in a BPF ring buffer, the consumer has read since the
last such block; u64."""

COUNTERS = b'"counters"\n'
"""What the block of a look at the counters of losses begins with."""
_COUNTED = len(COUNTERS) + 12
"""Where in it the values begin: behind the size of the key, the key, and the size of the value."""
_OF_CPU = 8 * len(named_maps.COUNTERS)
_RECORDS = 8 * named_maps.COUNTERS.index("records")

_TRAILER = made.trailer_size(SAMPLE_TYPE)
_SIZE = struct.Struct("=Q")
_CHUNK = 1 << 18


class RecordingError(Exception):
    """The file cannot be made; the text says why."""


class PerfDataFile:
    """A `SampleSink`. A file that was there before is kept with `.old` behind its name, as soon as there is something
    to record.

    When the file takes no more (`failure` says why) it ends with its last whole round.
    """

    wants_names = False

    def __init__(
        self,
        path: str,
        version: str,
        command: Sequence[str],
        runs: Callable[[int], Iterable[bytes]] = running.records,
        unseen: Collection[int] = (),
    ) -> None:
        """`version` is of sonde; `command` its command line; `runs` makes the records of what runs already; `unseen`
        are the layouts of records that perf is not to show. Raises RecordingError for a path where there cannot be a
        file."""
        self.path = path
        self._place, self._is_new, self._descriptor = _opened(path)
        self._runs = runs
        self._unseen = unseen
        self._of_programs: frozenset[int] = frozenset()
        self._has_begun = False
        self._version = version
        self._command = tuple(command)
        self._note = b""
        self._events: list[tuple[str, Event]] = []
        self._parts: list[bytes] = []
        self._waiting = 0
        self._start = self._end = 0
        self._lost = self._lost_records = 0
        self.failure = ""
        self.undescribed = ""
        """Why what perf needs to know of the sampled trace events could not be had, "" if it could."""

    def block(self, kind: int, *parts: bytes | memoryview) -> None:
        """What the consumer has read: of a ring, whose records stand in the file anyway, only how much."""
        if kind == DESCRIPTION:
            self._note = b"".join(parts)
            return
        content = _SIZE.pack(len(parts[-1])) if kind == RING else b"".join(parts)
        if kind == MAP and content.startswith(COUNTERS):
            self._lost_records = _lost_records(content)
        self._add_block(kind, content)

    def begin(self, events: Sequence[SampledEvent]) -> None:
        """At least one event, that of the records of programs, has an identifier. Raises OSError."""
        self._has_begun = True
        if not self._is_new and os.fstat(self._descriptor).st_size:
            rename_at(self._place, f"{self._place.name}.old")
            os.close(self._descriptor)
            self._descriptor = open_at(self._place, os.O_EXCL, os.O_RDWR)
        empty(self._descriptor)
        self._events = [(each.name, Event(each.attributes, each.ids)) for each in events if each.ids]
        self._of_programs = frozenset(self._ids(True))
        opening = perf_data.opening([event for _, event in self._events], self._note)
        self._start = self._end = len(opening)
        self._write(0, opening)
        for name, event in self._events:
            self._add(made.event_name(event.ids[0], name))
        for record in self._runs(_TRAILER):
            self._add(record)
        self._flush()

    def records(self, cpu: int, data: memoryview) -> None:
        for is_unseen, part in parts(data, self._unseen, self._of_programs):
            if is_unseen:
                self._add_block(UNSEEN, part)
            else:
                self._add(part)

    def end_round(self) -> None:
        if self._parts:
            self._add(made.finished_round())
            self._flush()

    def finish(self, lost: int) -> None:
        self._lost = lost

    def complete(self) -> Summary | None:
        """The session is over: write what is told at the end of the file. What the file has, None if there is none."""
        self.end_round()
        if self.failure or not self._events:
            return None
        with open(self._descriptor, "rb", closefd=False) as file:
            summary = Summary(PerfDataReader(file).pieces(), self._of_programs)
        # Of rings that were full at the very end no record tells: there was nothing that could have come after it.
        samples = max(self._lost - summary.lost_samples, 0)
        records = max(self._lost_records - summary.lost_records, 0)
        for events, count in ((self._ids(False), samples), (self._ids(True), records)):
            if count and events:
                self._add(made.lost(events[0], count, _TRAILER))
        self.end_round()
        summary.lost_samples += samples
        summary.lost_records += records
        self._finish(self._features(summary))
        return summary

    def _ids(self, of_programs: bool) -> list[int]:
        """What identifies the samples that are records of programs, or the others."""
        kind = perf.TYPE_SOFTWARE, perf.SOFTWARE_BPF_OUTPUT
        wanted = (event for _, event in self._events if ((event.type, event.config) == kind) == of_programs)
        return [number for event in wanted for number in event.ids]

    def close(self) -> None:
        """A file in which nothing was to be recorded is as it was."""
        if self._is_new and not self._has_begun:
            remove_at(self._place, self._descriptor)
        os.close(self._descriptor)
        self._place.close()

    def _add_block(self, kind: int, content: bytes) -> None:
        for record in perf_data_blocks.records(self._events[0][1].ids[0], kind, content):
            self._add(record)

    def _add(self, record: bytes) -> None:
        self._parts.append(record)
        self._waiting += len(record)
        if self._waiting >= _CHUNK:
            self._flush()

    def _flush(self) -> None:
        """Write what is waiting, then how far the data go."""
        data = b"".join(self._parts)
        self._parts.clear()
        self._waiting = 0
        self._write(self._end, data)
        if not self.failure:
            self._end += len(data)
            self._write(perf_data.DATA_SIZE_OFFSET, _SIZE.pack(self._end - self._start))

    def _write(self, offset: int, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view and not self.failure:
                written = os.pwrite(self._descriptor, view, offset)
                view, offset = view[written:], offset + written
        except OSError as error:
            self.failure = error.strerror or str(error)

    def _finish(self, found: list[tuple[int, bytes]]) -> None:
        """The features, and only then in the header that they are there."""
        self._write(self._end, perf_data.closing(found, self._end))
        self._write(perf_data.FEATURES_OFFSET, perf_data.feature_bits(number for number, _ in found))

    def _features(self, summary: Summary) -> list[tuple[int, bytes]]:
        system = os.uname()
        ids = [*build_ids.of_kernel(), *build_ids.of_files(summary.files)]
        wall, now = time.clock_gettime_ns(time.CLOCK_REALTIME), monotonic_ns()
        found = [
            (features.TRACING_DATA, self._tracing_data()),
            (features.BUILD_ID, features.build_ids(ids)),
            (features.HOSTNAME, features.text(system.nodename)),
            (features.OS_RELEASE, features.text(system.release)),
            (features.VERSION, features.text(f"sonde {self._version}")),
            (features.ARCHITECTURE, features.text(system.machine)),
            (features.CPU_COUNTS, features.cpu_counts(possible_cpus(), len(online_cpus()))),
            (features.CPU_DESCRIPTION, features.text(hardware.processor())),
            (features.TOTAL_MEMORY, features.number(hardware.memory())),
            (features.COMMAND_LINE, features.texts(self._command)),
            (features.EVENT_DESCRIPTIONS, features.event_descriptions(self._events)),
            (features.SAMPLE_TIMES, features.times(summary.first, summary.last)),
            (features.CLOCK_RESOLUTION, features.number(1)),
            (features.CLOCK, features.clock(time.CLOCK_MONOTONIC, wall, now)),
        ]
        return [each for each in found if each[1]]

    def _tracing_data(self) -> bytes:
        """What perf needs to know of trace events that were sampled, b"" if none were."""
        numbers = [event.config for _, event in self._events if event.type == perf.TYPE_TRACEPOINT]
        if not numbers:
            return b""

        try:
            return trace_events.of_events(numbers)
        except OSError as error:
            self.undescribed = f"{error.filename}: {error.strerror}"
            return b""


def _lost_records(content: bytes) -> int:
    """How many records of programs found no room, over all CPUs."""
    starts = range(_COUNTED, len(content) - _OF_CPU + 1, _OF_CPU)
    return sum(_SIZE.unpack_from(content, start + _RECORDS)[0] for start in starts)


def _opened(path: str) -> tuple[Place, bool, int]:
    """Where the file is, whether it is new, and its descriptor, neither read nor changed yet. Raises RecordingError."""
    try:
        place = place_of(path)
    except OSError as error:
        raise RecordingError(f"failed to open '{path}': {error.strerror}") from None
    try:
        is_new = not exists_at(place)
        descriptor = open_at(place, access=os.O_RDWR | os.O_NONBLOCK)
    except OSError as error:
        place.close()
        raise RecordingError(f"failed to open '{path}': {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        place.close()
        raise RecordingError(f"'{path}' is no regular file: its beginning is written last, which needs one")
    return place, is_new, descriptor
