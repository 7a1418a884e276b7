"""Reading a perf.data file: what stands before its data, then record by record as far as they go."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from functools import cached_property

from sonde.formats import perf_data
from sonde.formats import perf_events as perf
from sonde.formats.perf_data import Event, FileSection, PerfDataError
from sonde.typed import BinaryIO, NamedTuple

_CHUNK = 1 << 20
_MOST_BEFORE_DATA = 80 << 20
"""Bytes: the most that a description has, and the events."""
_MOST_OF_FEATURE = 1 << 26
_RECORD, _RECORD_SIZE = perf.HEADER, struct.Struct("=6xH")


class DataRecord(NamedTuple):
    """A record: PERF_RECORD_* number, PERF_RECORD_MISC_* bits, all its bytes with the header."""

    type: int
    misc: int
    data: bytes

    @property
    def body(self) -> memoryview:
        return memoryview(self.data)[perf.HEADER_SIZE :]


class PerfDataReader:
    """Raises PerfDataError for what cannot be read at all.

    `note` is sonde's, None in files that others wrote. `damage` says what ended the reading of `records` early, "" if
    nothing did; `is_cut`: that the file ends there. `is_finished`: whoever wrote the file came to its end.
    """

    def __init__(self, file: BinaryIO) -> None:
        """`file` can be sought in, and is the caller's to close."""
        self._file = file
        self._size = file.seek(0, os.SEEK_END)
        self.header = perf_data.parse_header(self._at(0, perf_data.HEADER.size))
        start = self.header.data.offset
        if start > _MOST_BEFORE_DATA or start < perf_data.HEADER.size:
            raise PerfDataError("its header is damaged: the data are said to be in a place where they cannot be")
        before = self._at(0, start)
        self.note = perf_data.parse_note(before)
        self.events: tuple[Event, ...] = perf_data.parse_events(self.header, before)
        self.is_finished = bool(self.header.features)
        self.damage = ""
        self.is_cut = False

    def _at(self, offset: int, size: int) -> bytes:
        """What there is of it."""
        if offset > self._size:
            return b""
        self._file.seek(offset)
        return self._file.read(size)

    @property
    def data(self) -> tuple[int, int]:
        """Where the data begin and should end: where a file was given up, behind all that is in it."""
        return self.header.data.offset, sum(self.header.data) if self.is_finished else self._size

    def records(self) -> Iterator[DataRecord]:
        """The records one after the other, as far as they are whole."""
        for piece in self.pieces():
            at = 0
            while at < len(piece):
                kind, misc, size = _RECORD.unpack_from(piece, at)
                yield DataRecord(kind, misc, piece[at : at + size])
                at += size

    def pieces(self) -> Iterator[bytes]:
        """The same, whole records many at a time."""
        self.damage = ""
        self.is_cut = False
        position, end = self.data
        waiting = b""
        while position < end:
            self._file.seek(position + len(waiting))
            more = self._file.read(min(_CHUNK, end - position - len(waiting)))
            waiting += more
            used = self._whole(waiting, position)
            if used:
                yield waiting[:used]
            if self.damage:
                return
            position, waiting = position + used, waiting[used:]
            if not more:
                if waiting or self.is_finished:
                    self.is_cut = True
                    self.damage = f"it is cut off at byte {position + len(waiting)}"
                return

    def _whole(self, data: bytes, position: int) -> int:
        """How many bytes at the beginning are whole records; what stands there in the file is at `position`."""
        at, last = 0, len(data) - perf.HEADER_SIZE
        while at <= last:
            (size,) = _RECORD_SIZE.unpack_from(data, at)
            if size < perf.HEADER_SIZE or size & 7:
                self.damage = f"it is damaged at byte {position + at}: a record of {size} bytes"
                return at
            if at + size > len(data):
                return at
            at += size
        return at

    def feature(self, number: int) -> bytes:
        """The content of a feature section, b"" if the file has it not."""
        section = self._sections.get(number)
        if section is None or section.size > _MOST_OF_FEATURE or section.offset > self._size:
            return b""
        return self._at(*section)

    @cached_property
    def _sections(self) -> dict[int, FileSection]:
        if not self.is_finished:
            return {}
        table = self._at(sum(self.header.data), len(self.header.features) * perf_data.SECTION.size)
        return perf_data.parse_features(self.header, table)

    @property
    def cut_behind_data(self) -> str:
        """That the file ends before all is there that its header promises behind the data; "" if it does not."""
        if not self.is_finished or sum(self.header.data) > self._size:
            return ""
        is_short = len(self._sections) < len(self.header.features)
        if is_short or any(sum(each) > self._size for each in self._sections.values()):
            return f"it is cut off behind its data, at byte {self._size}"
        return ""
