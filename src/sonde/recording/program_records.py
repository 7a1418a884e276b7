"""The records of D programs as they stand in a perf.data file: the raw bytes of samples of bpf-output events."""

from __future__ import annotations

import struct
from operator import itemgetter

from sonde.formats.bpf_ring import RING_HEADER, record_size
from sonde.formats.perf_records import SAMPLED
from sonde.typed import TypeAlias

Image: TypeAlias = "tuple[int, bytes]"
"""A record's time, and the record as it would stand in a BPF ring buffer, behind its header."""

_TIME = itemgetter(0)
_WORD, _LENGTH = struct.Struct("=Q"), struct.Struct("=I")


class ProgramRecords:
    """Those that no reader has asked for yet."""

    def __init__(self) -> None:
        self._waiting: list[Image] = []

    def add(self, sample: bytes) -> None:
        """A PERF_RECORD_SAMPLE with its header. Raises struct.error or ValueError for one that has no record in it."""
        (time,) = _WORD.unpack_from(sample, SAMPLED.time)
        (length,) = _LENGTH.unpack_from(sample, SAMPLED.raw)
        size = record_size(length)
        image = sample[SAMPLED.raw : SAMPLED.raw + size]
        if len(image) < RING_HEADER + length:
            raise ValueError("a program's record is longer than the sample it is in")
        self._waiting.append((time, image.ljust(size, b"\0")))

    def take(self, size: int | None = None) -> list[Image]:
        """The earliest of them, so many bytes; or all."""
        self._waiting.sort(key=_TIME)
        count, left = 0, size
        while count < len(self._waiting) and (left is None or left > 0):
            left = None if left is None else left - len(self._waiting[count][1])
            count += 1
        taken = self._waiting[:count]
        del self._waiting[:count]
        return taken
