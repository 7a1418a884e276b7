"""A BPF ring buffer and perf rings as one ring: for programs that write what ends in a packet into perf rings and all
else into the ring buffer.

In the second u32 of an image the program has put how far the ring buffer was filled when it wrote the image: the lower
half of the producer position. There the record belongs.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonde.engines.kernel.ring import KernelRing
from sonde.engines.merged_ring import MergedRing
from sonde.formats.bpf_ring import record_size
from sonde.formats.perf_records import count_alike

_HALF, _SIGN = 1 << 32, 1 << 31
_LONGEST = 4096


class MixedRing:
    """The Ring of both. Owns neither."""

    def __init__(self, buffer: KernelRing, images: MergedRing) -> None:
        self._buffer = buffer
        self._images = images
        self._read_from: KernelRing | MergedRing = buffer
        self._ready = b""

    def read(self) -> memoryview:
        """Records as they stand in a BPF ring buffer, all since `advance`; empty if there are none.

        What has been produced when the perf rings are looked at is read, not what comes meanwhile: a CPU may have
        written an image before that, and since that ring was looked at.
        """
        if self._ready:
            return memoryview(self._ready)
        begin, limit = self._buffer.position, self._buffer.produced
        images = self._images.read()
        records = self._buffer.read()[: limit - begin]
        if not len(images):
            self._read_from = self._buffer
            return records
        parts, size = _merged(records, begin, images)
        if not len(records):
            self._read_from = self._images
            return images[:size]
        self._ready = b"".join(parts)
        parts.clear()
        self._images.advance(size)
        self._buffer.advance(len(records))
        return memoryview(self._ready)

    def advance(self, size: int) -> None:
        """Forget the first `size` bytes of what `read` gave."""
        if self._ready:
            self._ready = self._ready[size:]
        else:
            self._read_from.advance(size)

    def unread(self) -> memoryview:
        """All records of both."""
        return memoryview(b"".join((self._ready, self._images.unread(), self._buffer.unread())))

    @property
    def has_data(self) -> bool:
        """Whether there is anything to read, without looking at what it is."""
        return bool(self._ready) or self._buffer.has_data or self._images.has_data


def _merged(records: memoryview, begin: int, images: memoryview) -> tuple[list[memoryview], int]:
    """The ring buffer's records, which begin at that position, and among them all images whose place is reached; and
    how many bytes those images have."""
    parts: list[memoryview] = []
    at = size = 0
    for run, position in _runs(images):
        # The place with that lower half that is nearest.
        place = (position - begin + _SIGN) % _HALF - _SIGN
        if place > len(records):
            break
        if place > at:
            parts.append(records[at:place])
            at = place
        parts.append(run)
        size += len(run)
    parts.append(records[at:])
    return parts, size


def _runs(images: memoryview) -> Iterator[tuple[memoryview, int]]:
    """Runs of images of one length and one place, and the second u32 of each run's."""
    quads = images.cast("Q")
    at, chunk = 0, 8
    while at < len(quads):
        header = quads[at]
        step = record_size(header) // 8
        limit = min(chunk, (len(quads) - at) // step)
        count = count_alike(quads[at : at + limit * step : step], header)
        chunk = min(chunk * 4, _LONGEST) if count == limit else 8
        yield images[8 * at : 8 * (at + count * step)], header >> 32
        at += count * step
