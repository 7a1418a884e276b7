"""Samples of bpf-output events that have their time, raw bytes and fixed fields, many at a time.

Such a record (PERF_RECORD_SAMPLE with PERF_SAMPLE_TIME and PERF_SAMPLE_RAW, include/uapi/linux/perf_event.h): u32 type,
u16 misc, u16 size; fields of a u64 each, one of which is the time; u32 raw size; raw bytes, padded so that all is whole
words.

Raw bytes are an *image*: a u32 length, a u32, and as many bytes as the first says.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from sonde.formats import perf_events as perf
from sonde.formats.bpf_ring import record_size
from sonde.typed import NamedTuple, TypeAlias

_LONGEST = 2048
"""Samples of a run, at most: so many are in a processor's cache while they are copied."""

Bytes: TypeAlias = "bytes | bytearray | memoryview"

Timed = tuple[int, bytes]
"""A record's time and its image, padded to whole words."""


class RecordPlaces(NamedTuple):
    """Offsets in a record: of the time, and of the raw bytes."""

    time: int
    raw: int


TIMED = RecordPlaces(8, 20)
"""Of samples with their time alone."""
SAMPLED = RecordPlaces(32, 60)
"""Of samples with identifier, ip, pid and tid, time, CPU and period."""


class SampleRun(NamedTuple):
    """Samples of `size` bytes each, one behind the other in `data`, with images of `image` bytes each, padded to whole
    words."""

    data: memoryview
    size: int
    image: int
    places: RecordPlaces

    def times(self) -> list[int]:
        return self.data.cast("Q")[self.places.time // 8 :: self.size // 8].tolist()

    def split(self, count: int) -> tuple[SampleRun, SampleRun]:
        """The first so many, and the others."""
        at = count * self.size
        return self._replace(data=self.data[:at]), self._replace(data=self.data[at:])

    def pieces(self) -> list[SampleRun]:
        """A run for each sample."""
        ends = range(self.size, len(self.data) + 1, self.size)
        return [self._replace(data=self.data[end - self.size : end]) for end in ends]

    def kept(self) -> SampleRun:
        """The same in memory of its own."""
        return self._replace(data=memoryview(bytes(self.data)))

    def records(self) -> list[Timed]:
        """One by one."""
        missing = self._missing
        before = f"={self.places.time}xQ{self.places.raw - self.places.time - 8}x"
        found = struct.iter_unpack(f"{before}{self.image - missing}s{self._behind}x", self.data)
        return list(found) if not missing else [(time, raw + bytes(missing)) for time, raw in found]

    def images(self) -> list[Bytes]:
        """All images, one behind the other in as many pieces, some of which are in the memory of `data`.

        Of many short ones each word is copied out of all with one strided copy.
        """
        count, words = len(self.data) // self.size, self.image // 8
        if words * (100 + count) < 50 * count:
            return [self._by_column(count)]
        begin, length = self.places.raw, self.image - self._missing
        pieces: list[Bytes] = [self.data[at : at + length] for at in range(begin, len(self.data), self.size)]
        if not self._missing:
            return pieces
        rest = bytes(self._missing)
        return [each for piece in pieces for each in (piece, rest)]

    def _by_column(self, count: int) -> bytearray:
        made = bytearray(count * self.image)
        source, target = self.data[self.places.raw : len(self.data) - self._behind], memoryview(made)
        if self._missing:
            _copy_columns(source.cast("I"), target.cast("I"), self.size // 4, self.image // 4, self.image // 4 - 1)
        else:
            _copy_columns(source.cast("Q"), target.cast("Q"), self.size // 8, self.image // 8, self.image // 8)
        return made

    @property
    def _missing(self) -> int:
        """The kernel's padding may end half a word before the image's."""
        return max(self.places.raw + self.image - self.size, 0)

    @property
    def _behind(self) -> int:
        """Bytes of a record behind its image."""
        return max(self.size - self.places.raw - self.image, 0)


def _copy_columns(source: memoryview, target: memoryview, step: int, to_step: int, count: int) -> None:
    """Copy the first `count` words of every `step` of the source to every `to_step` of the target."""
    for word in range(count):
        target[word::to_step] = source[word::step]


def runs(data: memoryview, places: RecordPlaces = TIMED) -> Iterator[SampleRun]:
    """The runs in ring bytes: samples of one size with images of one length. Records other than samples are left out.

    Headers are read with strided slices.
    """
    words, quads = data.cast("I"), data.cast("Q")
    position, end, chunk = 0, len(quads), 8
    length_at = places.raw // 4
    while position < end:
        header = quads[position]
        step = header >> 51
        if header & 0xFFFFFFFF != perf.RECORD_SAMPLE:
            position += step
            continue
        length = words[2 * position + length_at]
        count = 1
        if position + step < end and quads[position + step] == header:
            limit = min(chunk, (end - position) // step)
            count = count_alike(quads[position : position + limit * step : step], header)
            at = 2 * position + length_at
            count = count_alike(words[at : at + 2 * count * step : 2 * step], length)
            chunk = min(chunk * 4, _LONGEST) if count == limit else 8
        stop = position + count * step
        yield SampleRun(data[8 * position : 8 * stop], 8 * step, record_size(length), places)
        position = stop


def count_alike(values: memoryview, first: int) -> int:
    """How many values from the beginning on are as the first."""
    if values.tobytes() == first.to_bytes(values.itemsize, "little") * len(values):
        return len(values)
    return next(index for index, value in enumerate(values.tolist()) if value != first)
