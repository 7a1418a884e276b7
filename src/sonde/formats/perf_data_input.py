"""A perf.data file that anybody has written, as values in the order of time: samples, and what stands between them.

It may be what `perf record` writes to a file or, saved, to a pipe: then what a file's header and feature sections have
comes in records of its own before the first sample. Nothing of it is believed.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from sonde.formats import perf_data
from sonde.formats import perf_events as perf
from sonde.formats import perf_features as features
from sonde.formats.perf_data import Event, PerfDataError
from sonde.formats.perf_data_reader import DataRecord, PerfDataReader
from sonde.formats.perf_features import BuildId
from sonde.formats.perf_filed_samples import FiledSample, SampleForm
from sonde.formats.perf_made_records import EVENT_NAME, FIRST_OF_FILES, RECORD_EVENT_UPDATE, RECORD_FINISHED_ROUND
from sonde.formats.perf_order import RoundOrder
from sonde.formats.perf_side_band import NO_STAMP, RecordStamp, SideBand, TrailerForm, decode_side_band
from sonde.formats.perf_tracing_data import DescribedEvent, TracingDataError, parse_tracing_data
from sonde.formats.perf_walk import (
    RECORD_ATTRIBUTES,
    RECORD_BUILD_ID,
    RECORD_FEATURE,
    RECORD_TRACING_DATA,
    Walk,
    WalkError,
)
from sonde.typed import BinaryIO, NamedTuple

_MOST_IDS = 1 << 20
"""Identifiers of all events together: 2,000 events on 512 CPUs."""
_MOST_TRACING_DATA = 32 << 20
_MOST_OPENING = 64 << 20
"""Bytes before the first sample of what was written to a pipe."""
_PIPE_HEADER = struct.Struct("=8sQ")
_WORD, _TWO = struct.Struct("=Q"), struct.Struct("=QQ")
_ATTRIBUTES_SIZE = 4


class FiledSampleOf(NamedTuple):
    """A sample of the event `event`, by its place among the file's."""

    event: int
    sample: FiledSample


class FiledRecord(NamedTuple):
    """Something else, and when and where it was written."""

    stamp: RecordStamp
    value: SideBand


class _Told:
    """What a file says before its first sample, or behind its last one."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.names: dict[int, str] = {}
        self.unnamed = 0
        self.tracing_data = b""
        self.build_ids: list[BuildId] = []
        self.clock: tuple[int, int, int] | None = None
        self.architecture = ""
        self.last_time = 0

    def feature(self, number: int, content: bytes) -> None:
        if number == features.TRACING_DATA:
            self.tracing_data = content
        elif number == features.BUILD_ID:
            self.build_ids += features.parse_build_ids(content)
        elif number == features.EVENT_DESCRIPTIONS:
            self.names |= features.parse_event_names(content)
            self.unnamed = features.unnamed(content)
        elif number == features.CLOCK:
            self.clock = features.parse_clock(content)
        elif number == features.ARCHITECTURE:
            self.architecture = features.parse_text(content)
        elif number == features.SAMPLE_TIMES and len(content) >= _TWO.size:
            self.last_time = _TWO.unpack_from(content)[1]


_WANTED = (
    features.TRACING_DATA, features.BUILD_ID, features.EVENT_DESCRIPTIONS, features.CLOCK, features.ARCHITECTURE,
    features.SAMPLE_TIMES,
)  # fmt: skip


class PerfDataInput:
    """`events` are the file's; `names` what they are called, in their order, "" where that is not told; `described`
    the trace events whose format it has, by their numbers; `clock` is what `perf_features.parse_clock` gives,
    `last_time` that of the last sample, 0 where it is not told. Raises PerfDataError for what cannot be read at all.

    `damage` says behind a reading of `values` what ended it early or is not told, "" if nothing; `strange` is how many
    records could not be understood; `is_torn` that some are not in the order of time.
    """

    def __init__(self, file: BinaryIO) -> None:
        """`file` can be sought in, and is the caller's to close."""
        self._file = file
        self.damage = ""
        self.strange = 0
        self.is_torn = False
        self._cut = ""
        file.seek(0)
        start = file.read(_PIPE_HEADER.size)
        self.is_pipe = start[:8] == perf_data.MAGIC and start[8:] == _WORD.pack(_PIPE_HEADER.size)
        told, self._walk = self._of_pipe() if self.is_pipe else self._of_file()
        self.events = tuple(told.events)
        ids = sum(len(event.ids) for event in self.events)
        if not self.events or ids > _MOST_IDS:
            raise PerfDataError("its list of events is damaged")
        self._by_id = {number: place for place, event in enumerate(self.events) for number in event.ids}
        self.names = tuple(self._name(event, told.names) for event in self.events)
        self.build_ids = tuple(told.build_ids)
        unnamed = f"the names of {told.unnamed} of its events are damaged" if told.unnamed else ""
        self._untold = "; ".join(filter(None, (self._cut, unnamed, self._unknown())))
        self.clock, self.architecture = told.clock, told.architecture
        self.last_time = told.last_time
        self.described = self._described(told.tracing_data)
        self._samples = [SampleForm(event) for event in self.events]
        self._trailers = [_trailer(event) for event in self.events]
        first = self.events[0]
        self._has_identifier = bool(first.sample_type & perf.SAMPLE_IDENTIFIER)
        self._id_at = _place_of_id(first.sample_type)

    def _unknown(self) -> str:
        """That samples of several events do not say which one they are of, "" where they do."""
        counted = [each for each in self.events if (each.type, each.config) not in _SILENT]
        if len(counted) < 2 or all(_place_of_id(each.sample_type) >= 0 for each in self.events):
            return ""
        return f"its samples do not say which of its {len(counted)} events they are of: all are taken for the first"

    def _of_file(self) -> tuple[_Told, Walk]:
        reader, told = PerfDataReader(self._file), _Told()
        told.events = list(reader.events)
        for number in _WANTED:
            content = reader.feature(number)
            if content:
                told.feature(number, content)
        start, end = reader.data
        self._cut = reader.cut_behind_data
        return told, Walk(self._file, start, end, _MOST_TRACING_DATA)

    def _of_pipe(self) -> tuple[_Told, Walk]:
        walk = Walk(self._file, _PIPE_HEADER.size, self._file.seek(0, os.SEEK_END), _MOST_TRACING_DATA)
        told = _Told()
        try:
            for place, record in walk:
                if record.type == perf.RECORD_SAMPLE or place > _MOST_OPENING:
                    break
                _take_opening(told, record)
        except (WalkError, struct.error) as error:
            if not told.events:
                raise PerfDataError(str(error)) from None
        return told, walk

    @staticmethod
    def _name(event: Event, names: dict[int, str]) -> str:
        return next((names[each] for each in event.ids if each in names), "")

    @staticmethod
    def _described(data: bytes) -> dict[int, DescribedEvent]:
        try:
            found = parse_tracing_data(data) if data else ()
        except TracingDataError as error:
            raise PerfDataError(str(error)) from None
        return {event.number: event for event in found}

    def values(self) -> Iterator[FiledSampleOf | FiledRecord]:
        """All, in the order of time."""
        self.damage, self.strange = self._untold, 0
        order = RoundOrder()
        try:
            for _, record in self._walk:
                if record.type == RECORD_FINISHED_ROUND:
                    ready = order.end_round()
                elif record.type < FIRST_OF_FILES:
                    ready = self._in_order(order, record)
                else:
                    continue
                for each in ready:
                    yield from self._value(each)
        except WalkError as error:
            self.damage = "; ".join(filter(None, (self._untold, f"{error.text} (byte {error.at})")))
        for each in order.rest():
            yield from self._value(each)
        self.is_torn = order.is_torn

    def _in_order(self, order: RoundOrder, record: DataRecord) -> list[DataRecord]:
        try:
            place = self._event(record)
            time = self._samples[place].time(record.body) if record.type == perf.RECORD_SAMPLE else (
                self._trailers[place].decode(record.body).time
            )  # fmt: skip
        except (struct.error, KeyError, IndexError):
            self.strange += 1
            return []
        return order.add(time, record)

    def _value(self, record: DataRecord) -> Iterator[FiledSampleOf | FiledRecord]:
        try:
            place = self._event(record)
            if record.type == perf.RECORD_SAMPLE:
                yield FiledSampleOf(place, self._samples[place].decode(record.misc, record.body))
                return
            trailer = self._trailers[place]
            value = decode_side_band(record, trailer.size)
            if value is not None:
                yield FiledRecord(trailer.decode(record.body) if trailer.size else NO_STAMP, value)
        except (struct.error, KeyError, IndexError):
            self.strange += 1

    def _event(self, record: DataRecord) -> int:
        """Which one it is of. Raises KeyError, struct.error."""
        body = record.body
        if record.type == perf.RECORD_SAMPLE:
            at = self._id_at
        elif self._has_identifier and self._trailers[0].size:
            at = len(body) - 8
        else:
            return 0
        if at < 0:
            return 0
        (number,) = _WORD.unpack_from(body, at)
        # What was there before tracing began has the identifier 0.
        return self._by_id[number] if number else 0


_SILENT = ((perf.TYPE_SOFTWARE, perf.SOFTWARE_BPF_OUTPUT), (perf.TYPE_SOFTWARE, perf.SOFTWARE_DUMMY))
"""Events without samples of their own."""


def _trailer(event: Event) -> TrailerForm:
    return TrailerForm(event.sample_type if event.flags & perf.FLAG_SAMPLE_ID_ALL else 0)


def _place_of_id(sample_type: int) -> int:
    """Where a sample says which event it is of, -1 if it does not: then there is one event, or nobody knows."""
    if sample_type & perf.SAMPLE_IDENTIFIER:
        return 0
    if not sample_type & perf.SAMPLE_ID:
        return -1
    before = perf.SAMPLE_IP | perf.SAMPLE_TID | perf.SAMPLE_TIME | perf.SAMPLE_ADDR
    return 8 * (sample_type & before).bit_count()


def _take_opening(told: _Told, record: DataRecord) -> None:
    """A record that stands for what a file has in its header and features. Raises struct.error."""
    body = record.body
    if record.type == RECORD_ATTRIBUTES:
        (size,) = struct.unpack_from("=I", body, _ATTRIBUTES_SIZE)
        size = size or perf_data.LEAST_ATTRIBUTES
        ids = body[size:]
        if size < perf_data.LEAST_ATTRIBUTES or size > len(body) or len(told.events) >= perf_data.MOST_EVENTS:
            raise struct.error("a damaged event")
        told.events.append(Event(bytes(body[:size]), tuple(ids[: len(ids) & -8].cast("Q"))))
    elif record.type == RECORD_TRACING_DATA:
        told.tracing_data = bytes(body)
    elif record.type == RECORD_FEATURE:
        (number,) = _WORD.unpack_from(body)
        told.feature(number, bytes(body[8:]))
    elif record.type == RECORD_BUILD_ID:
        found = features.parse_build_id(record.data)
        if found is not None:
            told.build_ids.append(found)
    elif record.type == RECORD_EVENT_UPDATE and len(body) >= _TWO.size:
        kind, event = _TWO.unpack_from(body)
        if kind == EVENT_NAME:
            told.names[event] = bytes(body[_TWO.size :]).partition(b"\0")[0].decode(errors="replace")
