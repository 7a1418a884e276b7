"""The feature sections of a perf.data file: what it tells of the machine, the events, and the files that were mapped
(tools/perf/Documentation/perf.data-file-format.txt and util/header.c of the kernel's sources)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from sonde.formats import perf_events as perf
from sonde.formats.perf_data import MOST_EVENTS, Event
from sonde.typed import NamedTuple

TRACING_DATA = 1
BUILD_ID, HOSTNAME, OS_RELEASE, VERSION, ARCHITECTURE, CPU_COUNTS, CPU_DESCRIPTION = 2, 3, 4, 5, 6, 7, 8
TOTAL_MEMORY, COMMAND_LINE, EVENT_DESCRIPTIONS = 10, 11, 12
SAMPLE_TIMES, CLOCK_RESOLUTION, CLOCK = 21, 23, 29

_CLOCK_VERSION = 1

_ALIGNED = 64
"""Strings have a multiple of so many bytes (NAME_ALIGN)."""
_MISC_BUILD_ID_SIZE = 1 << 15
_NO_GUEST = -1
_CPU_MODES = 7
"""PERF_RECORD_MISC_CPUMODE_MASK."""


class BuildId(NamedTuple):
    """The build id of a file, by its path; `is_kernel`: of the kernel itself or a module."""

    path: str
    id: bytes
    is_kernel: bool


def text(value: str) -> bytes:
    """A string: u32 length, then characters, a NUL and further zeros."""
    characters = value.encode(errors="surrogateescape") + b"\0"
    characters += bytes(-len(characters) % _ALIGNED)
    return struct.pack("=I", len(characters)) + characters


def texts(values: Sequence[str]) -> bytes:
    """A list of strings: that of the command line."""
    return struct.pack("=I", len(values)) + b"".join(map(text, values))


def cpu_counts(possible: int, online: int) -> bytes:
    """Numbers of CPUs: perf says "available", then "online"."""
    return struct.pack("=II", possible, online)


def number(value: int) -> bytes:
    """One u64: the memory in kB, or the resolution of the samples' clock in ns."""
    return struct.pack("=Q", value)


def clock(number_: int, wall: int, time: int) -> bytes:
    """The samples' clock by its number of clock_gettime(2), and what it and a wall clock (ns since 1970) were at one
    moment."""
    return struct.pack("=IIQQ", _CLOCK_VERSION, number_, wall, time)


def times(first: int, last: int) -> bytes:
    """When the first and the last sample were taken, ns."""
    return struct.pack("=QQ", first, last)


def event_descriptions(events: Iterable[tuple[str, Event]]) -> bytes:
    """Events with their names."""
    listed = list(events)
    size = max((len(event.attributes) for _, event in listed), default=0)
    parts = [struct.pack("=II", len(listed), size)]
    for name, event in listed:
        count = len(event.ids)
        ids = struct.pack(f"={count}Q", *event.ids)
        parts += [event.attributes.ljust(size, b"\0"), struct.pack("=I", count), text(name), ids]
    return b"".join(parts)


def build_ids(found: Iterable[BuildId]) -> bytes:
    """Records of build ids: header, s32 pid, 20 bytes of id, its size, zeros, path."""
    parts = []
    for each in found:
        path = each.path.encode(errors="surrogateescape") + b"\0"
        path += bytes(-len(path) % _ALIGNED)
        misc = (perf.MISC_KERNEL if each.is_kernel else perf.MISC_USER) | _MISC_BUILD_ID_SIZE
        id_ = each.id[:20]
        parts.append(struct.pack("=IHHi20sB3x", 0, misc, 36 + len(path), _NO_GUEST, id_, len(id_)) + path)
    return b"".join(parts)


def parse_event_names(section: bytes) -> dict[int, str]:
    """The names of events by the identifiers of their records, as far as they can be read."""
    return {number_: name for name, event in parse_descriptions(section) for number_ in event.ids}


def parse_text(section: bytes) -> str:
    """A string, "" where it cannot be read."""
    if len(section) < 4:
        return ""
    (length,) = struct.unpack_from("=I", section)
    return section[4 : 4 + length].partition(b"\0")[0].decode(errors="replace")


_BUILD_ID = struct.Struct("=IHHi20sB3x")


def parse_build_ids(section: bytes) -> list[BuildId]:
    """What `build_ids` has made, or perf, as far as it can be read."""
    found, at = [], 0
    while at + _BUILD_ID.size < len(section):
        build_id = parse_build_id(section[at : at + 65536])
        if build_id is None:
            break
        (size,) = struct.unpack_from("=H", section, at + 6)
        found.append(build_id)
        at += size
    return found


def parse_build_id(record: bytes) -> BuildId | None:
    """That of one record, None for one that is too short."""
    if len(record) <= _BUILD_ID.size:
        return None
    _, misc, size, _, id_, length = _BUILD_ID.unpack_from(record)
    if size <= _BUILD_ID.size:
        return None
    path = record[_BUILD_ID.size : size].partition(b"\0")[0].decode(errors="surrogateescape")
    # Who says nothing of its size has one of 20 bytes.
    id_ = id_[: min(length, 20)] if misc & _MISC_BUILD_ID_SIZE else id_
    return BuildId(path, id_, misc & _CPU_MODES == perf.MISC_KERNEL)


def parse_clock(section: bytes) -> tuple[int, int, int] | None:
    """What `clock` has made: the clock's number, ns since 1970, and its time then."""
    if len(section) < 24:
        return None
    _, number_, wall, time = struct.unpack_from("=IIQQ", section)
    return number_, wall, time


def unnamed(section: bytes) -> int:
    """How many events `event_descriptions` has told of that cannot be read."""
    told = int.from_bytes(section[:4], "little") if len(section) >= 4 else 1
    return max(min(told, MOST_EVENTS) - len(parse_descriptions(section)), 0)


def parse_descriptions(section: bytes) -> list[tuple[str, Event]]:
    """What `event_descriptions` has made, as far as it can be read."""
    found: list[tuple[str, Event]] = []
    try:
        count, size = struct.unpack_from("=II", section)
        at = 8
        for _ in range(min(count, MOST_EVENTS)):
            attributes = section[at : at + size]
            ids, length = struct.unpack_from("=II", section, at + size)
            at += size + 8
            name = section[at : at + length].partition(b"\0")[0].decode(errors="replace")
            at += length
            found.append((name, Event(attributes, struct.unpack_from(f"={ids}Q", section, at))))
            at += 8 * ids
    except struct.error:
        pass
    return found
