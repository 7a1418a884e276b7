"""The feature TRACING_DATA of a perf.data file: what the records of trace events consist of (tracing_data_header and
what follows it in tools/perf/util/trace-event-info.c of the kernel's sources). perf reads no file without it that has
samples of trace events."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence

from sonde.typed import NamedTuple

_MAGIC = b"\x17\x08\x44tracing"
_VERSION = b"0.6\0"
_LITTLE_ENDIAN, _BIG_ENDIAN = 0, 1
_NOTHING = struct.pack("=IIQ", 0, 0, 0)
"""The sizes of addresses with their names, of the texts of trace_printk(), and of threads with theirs: perf has the
first and the last otherwise, and there are none of the second."""


def tracing_data(
    page: bytes, header: bytes, formats: Mapping[str, Sequence[bytes]], page_size: int, is_little: bool = True
) -> bytes:
    """`page` and `header` are tracefs's files events/header_page and header_event, `formats` the files `format` of
    events by their group."""
    parts = [_MAGIC, _VERSION, struct.pack("=BBI", _LITTLE_ENDIAN if is_little else _BIG_ENDIAN, 8, page_size)]
    parts += [b"header_page\0", _sized(page), b"header_event\0", _sized(header)]
    # Of ftrace's own events there are none.
    parts += [struct.pack("=I", 0), struct.pack("=I", len(formats))]
    for group, found in formats.items():
        parts += [group.encode() + b"\0", struct.pack("=I", len(found)), *map(_sized, found)]
    return b"".join(parts) + _NOTHING


def _sized(content: bytes) -> bytes:
    return struct.pack("=Q", len(content)) + content


_MOST_TEXT, _MOST_EVENTS = 1 << 16, 1 << 15
"""Bytes of the description of an event, which has a page in tracefs; events."""
_LONGEST_NAME = 256
_NUMBER = re.compile(rb"^ID:\s*(\d{1,9})\s*$", re.MULTILINE)
_NAME = re.compile(rb"^name:\s*([\w.:-]{1,127})\s*$", re.MULTILINE)


class TracingDataError(Exception):
    """It cannot be read; the text says why."""


class DescribedEvent(NamedTuple):
    """A trace event of another machine's kernel: its number there, and tracefs's file `format` of it."""

    group: str
    name: str
    number: int
    format: str


class _Cursor:
    """What is left of the data. Raises TracingDataError where there is less than is asked for."""

    def __init__(self, data: bytes, order: str) -> None:
        self._data = data
        self._at = 0
        self._half, self._word = struct.Struct(f"{order}I"), struct.Struct(f"{order}Q")

    def take(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        if len(found) < size:
            raise TracingDataError("its description of trace events is cut off")
        self._at += size
        return found

    def half(self) -> int:
        return int(self._half.unpack(self.take(4))[0])

    def sized(self) -> bytes:
        return self.take(int(self._word.unpack(self.take(8))[0]))

    def text(self) -> str:
        """As far as the next NUL."""
        end = self._data.find(b"\0", self._at, self._at + _LONGEST_NAME)
        if end < 0:
            raise TracingDataError("its description of trace events is damaged: a name without end")
        found = self.take(end + 1 - self._at)[:-1]
        return found.decode(errors="replace")


def parse_tracing_data(data: bytes) -> tuple[DescribedEvent, ...]:
    """The events that are described. Raises TracingDataError."""
    if data[: len(_MAGIC)] != _MAGIC:
        raise TracingDataError("its description of trace events is none")
    start = data.find(b"\0", len(_MAGIC), len(_MAGIC) + 16) + 1
    if not start or len(data) < start + 6:
        raise TracingDataError("its description of trace events is cut off")
    cursor = _Cursor(data, "<" if data[start] == _LITTLE_ENDIAN else ">")
    # The byte order, the size of a word, and that of a page.
    cursor.take(start + 6)
    for _ in (b"header_page", b"header_event"):
        cursor.text()
        cursor.sized()
    for _ in range(cursor.half()):
        cursor.sized()
    found: list[DescribedEvent] = []
    for _ in range(cursor.half()):
        group = cursor.text()
        for _ in range(cursor.half()):
            event = _described(group, cursor.sized())
            if event is not None:
                found.append(event)
            if len(found) > _MOST_EVENTS:
                raise TracingDataError(f"it describes more than {_MOST_EVENTS} trace events")
    return tuple(found)


def _described(group: str, text: bytes) -> DescribedEvent | None:
    """The event of a format file, None for one that says neither its name nor its number."""
    name, number = _NAME.search(text), _NUMBER.search(text)
    if name is None or number is None or len(text) > _MOST_TEXT:
        return None
    return DescribedEvent(group, name[1].decode(), int(number[1]), text.decode(errors="replace"))
