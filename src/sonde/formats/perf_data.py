"""The frame of a perf.data file (tools/perf/Documentation/perf.data-file-format.txt of the kernel's sources).

A header of 104 bytes; a list of events, each a struct perf_event_attr and where its identifiers stand; the data, perf
records one behind the other; behind them, where the header's bits say so, feature sections. All of it is in the byte
order of the machine that wrote it, and offsets are from the beginning of the file.

What sonde adds is a *note*, bytes of its own between the header and the list of events, where others do not look.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Sequence

from sonde.formats.damage import DamagedError
from sonde.typed import NamedTuple

MAGIC = b"PERFILE2"
NOTE_MAGIC = b"SONDENOT"

HEADER = struct.Struct("=8sQQ6Q32s")
"""struct perf_file_header: magic, size of the header and of an entry of the list, three sections, feature bits."""
SECTION = struct.Struct("=QQ")
"""struct perf_file_section: offset, size."""
NOTE = struct.Struct("=8sQ")
"""What a note begins with: its magic and the number of bytes that follow."""

DATA_SIZE_OFFSET = 48
"""Where in the header the size of the data stands."""
FEATURES_OFFSET = 72

LEAST_ATTRIBUTES = 64
"""PERF_ATTR_SIZE_VER0."""
_ATTRIBUTES_SIZE = 4
"""Offset of attr.size."""
MOST_EVENTS, MOST_IDS = 4096, 1 << 22
"""Events, and the identifiers of all together: one for each CPU."""


class PerfDataError(DamagedError):
    """It is no perf.data file, or not one that can be read; the text says why, without the file's name."""


class Event(NamedTuple):
    """An event of the file: its struct perf_event_attr, and what identifies its records (PERF_SAMPLE_IDENTIFIER)."""

    attributes: bytes
    ids: tuple[int, ...]

    @property
    def type(self) -> int:
        return int(struct.unpack_from("=I", self.attributes, 0)[0])

    @property
    def config(self) -> int:
        return self._word(8)

    @property
    def sample_type(self) -> int:
        return self._word(24)

    @property
    def period(self) -> int:
        """How many events to a sample; where `is_frequency`, how many samples to a second."""
        return self._word(16)

    @property
    def is_frequency(self) -> bool:
        return bool(self.flags & 1 << 10)

    @property
    def read_format(self) -> int:
        return self._word(32)

    @property
    def flags(self) -> int:
        """The bits behind read_format."""
        return self._word(40)

    @property
    def branch_sample_type(self) -> int:
        return self._word(72)

    @property
    def sample_regs_user(self) -> int:
        """A bit for each register of the user's that samples have (arch/*/include/uapi/asm/perf_regs.h)."""
        return self._word(80)

    def _word(self, offset: int) -> int:
        """One of those that older kernels do not have."""
        end = offset + 8
        return int.from_bytes(self.attributes[offset:end], sys.byteorder) if end <= len(self.attributes) else 0


class FileSection(NamedTuple):
    offset: int
    size: int


class Header(NamedTuple):
    """The header: sections of the events' list and of the data, and the numbers of the features behind the data."""

    entry_size: int
    events: FileSection
    data: FileSection
    features: tuple[int, ...]


def opening(events: Sequence[Event], note: bytes) -> bytes:
    """What stands before the data, whose size is 0 in it: whoever wrote the file has not finished.

    A reader that knows better is told by the size of the file.
    """
    size = max(len(event.attributes) for event in events)
    parts = [NOTE.pack(NOTE_MAGIC, len(note)), note, bytes(-len(note) & 7)]
    at = HEADER.size + sum(map(len, parts))
    entries = []
    for event in events:
        ids = struct.pack(f"={len(event.ids)}Q", *event.ids)
        entries.append(_sized(event.attributes, size) + SECTION.pack(at, len(ids)))
        parts.append(ids)
        at += len(ids)
    listed = b"".join(entries)
    header = HEADER.pack(
        MAGIC, HEADER.size, size + SECTION.size, at, len(listed), at + len(listed), 0, 0, 0, bytes(32)
    )  # fmt: skip
    return header + b"".join(parts) + listed


def _sized(attributes: bytes, size: int) -> bytes:
    """The attributes with zeros behind them, which mean the same."""
    made = bytearray(attributes.ljust(size, b"\0"))
    struct.pack_into("=I", made, _ATTRIBUTES_SIZE, size)
    return bytes(made)


def feature_bits(numbers: Iterable[int]) -> bytes:
    """The header's feature bits."""
    return sum(1 << number for number in numbers).to_bytes(32, "little")


def closing(features: Sequence[tuple[int, bytes]], at: int) -> bytes:
    """What stands behind the data: where each feature's section is, then the sections; `at` is the offset of all that.

    `features` are (number, content), by ascending number.
    """
    offset = at + len(features) * SECTION.size
    table, parts = [], []
    for _, content in features:
        padded = content + bytes(-len(content) & 7)
        table.append(SECTION.pack(offset, len(padded)))
        parts.append(padded)
        offset += len(padded)
    return b"".join(table + parts)


def parse_header(data: bytes) -> Header:
    """The header at the beginning of `data`. Raises PerfDataError."""
    if data[:8] == MAGIC[::-1]:
        raise PerfDataError("it was written on a machine of the other byte order")
    if data[:8] != MAGIC:
        raise PerfDataError("it is no perf.data file")
    if len(data) < HEADER.size:
        raise PerfDataError("it is cut off within its header")
    _, size, entry_size, *numbers, bits = HEADER.unpack_from(data)
    if size == 16:
        raise PerfDataError("it was written to a pipe: `perf inject -i FILE -o OTHER` makes a file of it")
    if size != HEADER.size:
        raise PerfDataError(f"its header is said to have {size} bytes instead of {HEADER.size}")
    features = int.from_bytes(bits, "little")
    found = tuple(number for number in range(256) if features >> number & 1)
    return Header(entry_size, FileSection(*numbers[0:2]), FileSection(*numbers[2:4]), found)


def parse_note(data: bytes) -> bytes | None:
    """sonde's note in what stands before the data, None if there is none. Raises PerfDataError."""
    if data[HEADER.size : HEADER.size + 8] != NOTE_MAGIC:
        return None
    if len(data) < HEADER.size + NOTE.size:
        raise PerfDataError("it is cut off within sonde's description of it")
    _, size = NOTE.unpack_from(data, HEADER.size)
    start = HEADER.size + NOTE.size
    if len(data) - start < size:
        raise PerfDataError("it is cut off within sonde's description of it")
    return data[start : start + size]


def parse_events(header: Header, data: bytes) -> tuple[Event, ...]:
    """The events; `data` is the file up to its data at least. Raises PerfDataError."""
    least = LEAST_ATTRIBUTES + SECTION.size
    count, rest = divmod(header.events.size, header.entry_size) if header.entry_size >= least else (0, 1)
    if rest or not 0 < count <= MOST_EVENTS:
        raise PerfDataError("its list of events is damaged")
    if header.events.offset + header.events.size > len(data):
        raise PerfDataError("it is cut off within its list of events")
    found, ids = [], 0
    for number in range(count):
        found.append(_event(data, header.events.offset + number * header.entry_size))
        ids += len(found[-1].ids)
        if ids > MOST_IDS:
            raise PerfDataError("its list of events is damaged: too many identifiers")
    return tuple(found)


def _event(data: bytes, at: int) -> Event:
    (size,) = struct.unpack_from("=I", data, at + _ATTRIBUTES_SIZE)
    size = size or LEAST_ATTRIBUTES
    if size < LEAST_ATTRIBUTES or at + size + SECTION.size > len(data):
        raise PerfDataError("its list of events is damaged")
    offset, length = SECTION.unpack_from(data, at + size)
    if length & 7 or length >> 3 > MOST_IDS or offset + length > len(data):
        raise PerfDataError("its list of events is damaged: identifiers that are not in the file")
    return Event(bytes(data[at : at + size]), struct.unpack_from(f"={length >> 3}Q", data, offset))


def parse_features(header: Header, table: bytes) -> dict[int, FileSection]:
    """The sections of the features; `table` is what stands behind the data. Those cut off are left out."""
    count = min(len(header.features), len(table) // SECTION.size)
    found = (FileSection(*SECTION.unpack_from(table, number * SECTION.size)) for number in range(count))
    return dict(zip(header.features, found, strict=False))
