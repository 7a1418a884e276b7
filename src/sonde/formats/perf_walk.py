"""The records of a perf.data file that anybody has written, one after the other: those that are compressed unpacked,
what stands behind some of them passed over (tools/perf/Documentation/perf.data-file-format.txt of the kernel's
sources)."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from sonde.formats import perf_events as perf
from sonde.formats.perf_data_reader import DataRecord
from sonde.formats.perf_made_records import FIRST_OF_FILES
from sonde.formats.zstd_stream import ZstdError, ZstdStream
from sonde.typed import BinaryIO

RECORD_ATTRIBUTES, RECORD_TRACING_DATA, RECORD_BUILD_ID, RECORD_AUXTRACE = 64, 66, 67, 71
RECORD_FEATURE, RECORD_COMPRESSED, RECORD_COMPRESSED2 = 80, 81, 83
"""Kinds that exist in files alone (tools/lib/perf/include/perf/event.h)."""

_COMPRESSED = (RECORD_COMPRESSED, RECORD_COMPRESSED2)
_SIZE = struct.Struct("=Q")
_HALF = struct.Struct("=I")
_CHUNK = 1 << 20
_MOST_UNPACKED = 64 << 20
"""Bytes of one record that is compressed: perf compresses what is in a ring, which has a few MiB."""

_ROOM, _RATIO = 2 << 20, 100
"""So many bytes may become of what is compressed, and so many times those that it has in the file: perf comes to a
tenth of that, and a short file is not to take long."""


class WalkError(Exception):
    """What is wrong, and at which byte of the file."""

    def __init__(self, text: str, at: int) -> None:
        super().__init__(text)
        self.text = text
        self.at = at


class Walk:
    """The records of `file`, which can be sought in, from `start` to `end`. That of TRACING_DATA has for its body what
    stands behind it, `largest_behind` bytes at most."""

    def __init__(self, file: BinaryIO, start: int, end: int, largest_behind: int) -> None:
        self._file = file
        self._start, self._end = start, end
        self._size = file.seek(0, os.SEEK_END)
        self._largest_behind = largest_behind
        self._zstd: ZstdStream | None = None
        self._rest = b""
        self._room = _ROOM

    def __iter__(self) -> Iterator[tuple[int, DataRecord]]:
        """Each with its place in the file. Raises WalkError behind the last whole one."""
        self._zstd, self._rest, self._room = None, b"", _ROOM
        position, buffer, at = self._start, b"", 0
        while position + at < self._end:
            needed = self._needed(buffer, at)
            if needed > len(buffer) - at:
                position, buffer, at = position + at, self._filled(position, buffer, at, needed), 0
                if needed > len(buffer):
                    raise WalkError("it is cut off", position + len(buffer))
                continue
            kind, misc, size = perf.HEADER.unpack_from(buffer, at)
            place = position + at
            if size < perf.HEADER_SIZE or (size & 7 and kind < FIRST_OF_FILES):
                raise WalkError(f"it is damaged: a record of {size} bytes", place)
            record = DataRecord(kind, misc, buffer[at : at + size])
            at += size
            if kind in _COMPRESSED:
                for each in self._unpacked(record, place):
                    yield place, each
                continue
            if kind in (RECORD_AUXTRACE, RECORD_TRACING_DATA):
                position, buffer, at = position + at, buffer[at:], 0
                behind = self._behind(record, place)
                if kind == RECORD_TRACING_DATA:
                    buffer = self._filled(position, buffer, 0, behind)
                    if len(buffer) < behind:
                        raise WalkError("it is cut off", position + len(buffer))
                    record = record._replace(data=record.data[: perf.HEADER_SIZE] + buffer[:behind])
                elif behind > min(self._end, self._size) - position:
                    raise WalkError("it is cut off", min(self._end, self._size))
                position, buffer = position + behind, buffer[behind:]
            yield place, record
        if self._rest:
            raise WalkError("it is damaged: what is compressed in it ends within a record", position + at)

    @staticmethod
    def _needed(buffer: bytes, at: int) -> int:
        """Bytes of the next record, or of its header if that is not there."""
        if len(buffer) - at < perf.HEADER_SIZE:
            return perf.HEADER_SIZE
        return max(int(perf.HEADER.unpack_from(buffer, at)[2]), perf.HEADER_SIZE)

    def _filled(self, position: int, buffer: bytes, at: int, needed: int) -> bytes:
        """What the buffer has from there on, and more behind it."""
        kept = buffer[at:]
        start = position + at + len(kept)
        size = min(max(_CHUNK, needed - len(kept)), self._end - start)
        # What is passed over may end where no file can be sought to.
        if size <= 0 or start >= self._size:
            return kept
        self._file.seek(start)
        return kept + self._file.read(size)

    def _behind(self, record: DataRecord, place: int) -> int:
        """How many bytes stand behind a record, which are none of its own."""
        form = _SIZE if record.type == RECORD_AUXTRACE else _HALF
        if len(record.body) < form.size:
            raise WalkError("it is damaged: a record without its size", place)
        (size,) = form.unpack_from(record.body)
        if record.type == RECORD_TRACING_DATA:
            size = -(-size // 8) * 8
            if size > self._largest_behind:
                raise WalkError(f"it is damaged: a description of {size} bytes", place)
        return int(size)

    def _unpacked(self, record: DataRecord, place: int) -> Iterator[DataRecord]:
        """The records that one has in it, as far as they are whole: the next begins with the rest."""
        content = record.body
        if record.type == RECORD_COMPRESSED2:
            if len(content) < _SIZE.size or (size := _SIZE.unpack_from(content)[0]) > len(content) - _SIZE.size:
                raise WalkError("it is damaged: a record that is longer than itself", place)
            content = content[_SIZE.size : _SIZE.size + size]
        try:
            if self._zstd is None:
                self._zstd = ZstdStream()
            self._room += _RATIO * len(content)
            unpacked = self._zstd.take(content, min(self._room, _MOST_UNPACKED))
            self._room -= len(unpacked)
            data = self._rest + unpacked
        except ZstdError as error:
            raise WalkError(str(error), place) from None
        at = 0
        while len(data) - at >= perf.HEADER_SIZE:
            kind, misc, size = perf.HEADER.unpack_from(data, at)
            if size < perf.HEADER_SIZE or size & 7 or kind in _COMPRESSED:
                raise WalkError(f"it is damaged: a record of {size} bytes, compressed", place)
            if size > len(data) - at:
                break
            yield DataRecord(kind, misc, data[at : at + size])
            at += size
        self._rest = data[at:]
