"""A perf.data file that a session has written, on its way back to text: samples as lines, and the blocks that the
records of programs were read in."""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence

from sonde.formats import perf_events as perf
from sonde.formats import perf_made_records as made
from sonde.formats.perf_data import PerfDataError
from sonde.formats.perf_data_blocks import Block, BlockReader
from sonde.formats.perf_data_reader import DataRecord, PerfDataReader
from sonde.formats.perf_features import EVENT_DESCRIPTIONS, parse_event_names
from sonde.formats.perf_samples import decode_lost
from sonde.formats.raw_file import DESCRIPTION, FUNCTIONS, MAP, RING
from sonde.model.named_maps import SKIPPED
from sonde.model.samples import SAMPLE_TYPE, SampledEvent
from sonde.recording.file import COUNTERS, UNSEEN
from sonde.recording.passed import Passed
from sonde.recording.program_records import Image, ProgramRecords
from sonde.typed import BinaryIO, NamedTuple

_SIZE = struct.Struct("=Q")
_SKIPPED = f'"{SKIPPED}"\n'.encode()
_RING_NUMBER = struct.pack("<I", 0)
_NAME = struct.Struct("=QQ")


class _Waiting(NamedTuple):
    """A block: of RING the records, of others the content."""

    kind: int
    content: bytes
    images: list[Image]

    @property
    def is_between_records(self) -> bool:
        """Counters of losses are looked at between two records, other maps while one is shown."""
        return self.kind == RING or self.content.startswith((COUNTERS, _SKIPPED))


class RecordedFile:
    """The blocks of a consumer, as `formats/raw_file.py` has them, and what stands between. Raises PerfDataError for a
    file that is none of a session."""

    def __init__(self, file: BinaryIO) -> None:
        """`file` can be sought in, and is the caller's to close."""
        self.reader = PerfDataReader(file)
        if self.reader.note is None:
            raise PerfDataError("it was not written by `sonde record`: perf reads it")
        self._description = self.reader.note
        events = self.reader.events
        for event in events:
            if ~event.sample_type & SAMPLE_TYPE & ~perf.SAMPLE_PERIOD or event.sample_type & ~perf.READABLE:
                raise PerfDataError(f"samples of its events have other fields ({event.sample_type:#x}) than sonde's")
        kind = perf.TYPE_SOFTWARE, perf.SOFTWARE_BPF_OUTPUT
        self._of_programs = {number for e in events if (e.type, e.config) == kind for number in e.ids}
        self._ids = {number for event in events for number in event.ids}
        self.lost = 0
        """Records that the recording lost, as the last reading of the blocks has found."""
        self._names = parse_event_names(self.reader.feature(EVENT_DESCRIPTIONS)) or self._early_names()

    @property
    def damage(self) -> str:
        """What ended the last reading of the blocks early, "" if nothing did."""
        return self.reader.damage

    def events(self) -> list[SampledEvent]:
        """What the samples are of."""
        return [
            SampledEvent(next((self._names[each] for each in event.ids if each in self._names), "?"), *event)
            for event in self.reader.events
        ]

    def _early_names(self) -> dict[int, str]:
        """Those at the beginning of the data, where the end of the file was never written."""
        names: dict[int, str] = {}
        for record in self.reader.records():
            if record.type != made.RECORD_EVENT_UPDATE or len(record.body) < _NAME.size:
                break
            kind, event = _NAME.unpack_from(record.body)
            if kind == made.EVENT_NAME:
                names[event] = bytes(record.body[_NAME.size :]).partition(b"\0")[0].decode(errors="replace")
        return names

    def __iter__(self) -> Iterator[Block]:
        return self.blocks(Passed())

    def blocks(self, passed: Passed) -> Iterator[Block]:
        """The blocks. `passed` takes what stands between them, and gives it away in the order of time: what was before
        a block when the next one is asked for, since the reader of blocks looks one ahead."""
        yield DESCRIPTION, self._description
        waiting: deque[_Waiting] = deque()
        last = RING
        programs = ProgramRecords()
        blocks = BlockReader()
        self.lost = 0
        try:
            for record in self.reader.records():
                self._take(record, programs, passed)
                if record.type == made.RECORD_EVENT_UPDATE:
                    self._add(waiting, blocks.take(record.body), programs)
                    last = waiting[-1].kind if waiting else last
                elif record.type == made.RECORD_FINISHED_ROUND:
                    passed.end_round()
                    yield from _settled(waiting, passed, passed.settled)
        except (struct.error, ValueError) as error:
            self.reader.damage = f"it is damaged: {error}"
        if rest := programs.take():
            # Where the file was cut off there may be records that no block speaks of any more.
            waiting.append(_Waiting(RING, b"", rest))
        if (waiting[-1].kind if waiting else last) == RING:
            # An empty one is asked for when the records before it have been shown: what is left comes behind them.
            waiting.append(_Waiting(RING, b"", []))
        passed.settle_all()
        yield from _settled(waiting, passed, passed.settled)
        passed.release(passed.settled)

    def _take(self, record: DataRecord, programs: ProgramRecords, passed: Passed) -> None:
        if record.type == perf.RECORD_SAMPLE:
            (identifier,) = _SIZE.unpack_from(record.data, perf.HEADER_SIZE)
            if identifier not in self._ids:
                raise ValueError(f"a sample of an unknown event ({identifier})")
            if identifier in self._of_programs:
                programs.add(record.data)
                return
        elif record.type == perf.RECORD_LOST:
            self.lost += decode_lost(record.body).lost
        if record.type < made.FIRST_OF_FILES:
            passed.add(record)

    @staticmethod
    def _add(waiting: deque[_Waiting], block: Block | None, programs: ProgramRecords) -> None:
        if block is None:
            return
        kind, content = block
        if kind == RING:
            waiting.append(_Waiting(RING, b"", programs.take(_SIZE.unpack_from(content)[0])))
        elif kind == UNSEEN:
            programs.add(content)
        elif kind in (MAP, FUNCTIONS):
            waiting.append(_Waiting(kind, content, []))


def _settled(waiting: deque[_Waiting], passed: Passed, until: int) -> Iterator[Block]:
    """The blocks of records not later than `until`, and those behind them."""
    while waiting:
        block = waiting[0]
        if block.images and block.images[-1][0] > until:
            return
        waiting.popleft()
        if block.kind != RING:
            yield block.kind, block.content
            passed.release(until if block.is_between_records and not waiting else 0)
            continue
        # What is looked at while records are shown belongs to all of them.
        splits = not waiting or waiting[0].is_between_records
        for images in _parts(block.images, passed.times() if splits else ()):
            yield RING, _RING_NUMBER + b"".join([image for _, image in images])
            passed.release(images[0][0] if images else until)


def _parts(images: list[Image], times: Sequence[int]) -> Iterator[list[Image]]:
    """The records between any two of these times, which ascend; at least one part, that may be empty."""
    start = 0
    for number in range(1, len(images)):
        before, after = images[number - 1][0], images[number][0]
        if bisect_left(times, after) != bisect_left(times, before):
            yield images[start:number]
            start = number
    yield images[start:]
