"""pcapng files, read (https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html).

A section has its own byte order and numbers its interfaces from 0; here they are numbered over the whole file. Blocks
of kinds that are not asked for are passed over.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from sonde.formats.captured_file import (
    LARGEST_PACKET,
    UNITS,
    CapturedInterface,
    CaptureError,
    CaptureStream,
    FiledPacket,
)
from sonde.formats.pcapng import (
    APPLICATION,
    BYTE_ORDER_MAGIC,
    ENHANCED_PACKET,
    FLAGS,
    INTERFACE_DESCRIPTION,
    INTERFACE_NAME,
    SECTION_HEADER,
    TIME_RESOLUTION,
)
from sonde.typed import NamedTuple

_SIMPLE_PACKET = 3
_TIME_OFFSET = 14
"""if_tsoffset."""
_LARGEST_BLOCK = 1 << 24
_MOST_INTERFACES = 4096
_MICROSECONDS = bytes([6])
"""if_tsresol where an interface says nothing."""
_IS_BINARY = 0x80
"""The bit of if_tsresol that makes it a power of two."""


class _Clock(NamedTuple):
    """How an interface writes times: a unit is `factor / divisor` ns, counted from `offset` seconds behind 1970."""

    factor: int
    divisor: int
    offset: int

    def time(self, units: int) -> int:
        return units * self.factor // self.divisor + self.offset * UNITS


class _Interface(NamedTuple):
    number: int
    longest: int
    clock: _Clock


class _Section:
    """Where its words' bytes stand (`order`), who wrote it, and its interfaces by their numbers."""

    def __init__(self, order: str) -> None:
        self.order = order
        self.writer = ""
        self.interfaces: list[_Interface] = []
        self.head = struct.Struct(f"{order}II")
        self.word = struct.Struct(f"{order}I")
        self.packet = struct.Struct(f"{order}5I")

    def interface(self, number: int, at: int) -> _Interface:
        if number >= len(self.interfaces):
            raise CaptureError(f"a packet of interface {number}, which is not described before it", at)
        return self.interfaces[number]


def is_pcapng(start: bytes) -> bool:
    """Whether a file of these first four bytes is one."""
    return int.from_bytes(start, "little") == SECTION_HEADER


def records(stream: CaptureStream) -> Iterator[CapturedInterface | FiledPacket]:
    """Interfaces and packets in their order. Raises CaptureError."""
    section, known = _Section("<"), 0
    while not stream.is_over():
        at = stream.position
        if is_pcapng(bytes(stream.peek(4))):
            section = _Section(_order(stream.peek(12), at))
        kind, body = _block(stream, section, at)
        if kind == SECTION_HEADER:
            # Behind the byte order, the version and the section's length.
            section.writer = _options(section, body[16:], at).get(APPLICATION, b"").decode(errors="replace")
        if kind == ENHANCED_PACKET:
            yield _packet(section, body, at)
        elif kind == INTERFACE_DESCRIPTION:
            if known >= _MOST_INTERFACES:
                raise CaptureError(f"it has more than {_MOST_INTERFACES} interfaces", at)
            yield _interface(section, body, known, at)
            known += 1
        elif kind == _SIMPLE_PACKET:
            yield _simple_packet(section, body, at)


def _order(start: memoryview, at: int) -> str:
    for order in ("<", ">"):
        if struct.unpack_from(f"{order}I", start, 8)[0] == BYTE_ORDER_MAGIC:
            return order
    raise CaptureError("a section without its byte order", at)


def _block(stream: CaptureStream, section: _Section, at: int) -> tuple[int, memoryview]:
    """Kind and body of the next block, whose length stands on both sides of it."""
    kind, length = section.head.unpack(stream.peek(8))
    if length < 12 or length % 4 or length > _LARGEST_BLOCK:
        raise CaptureError(f"a block of {length} bytes: no multiple of 4 from 12 to {_LARGEST_BLOCK}", at)
    whole = stream.take(length)
    if section.word.unpack_from(whole, length - 4)[0] != length:
        raise CaptureError(f"a block of {length} bytes that ends with another length", at)
    return kind, whole[8 : length - 4]


def _interface(section: _Section, body: memoryview, known: int, at: int) -> CapturedInterface:
    if len(body) < 8:
        raise CaptureError("a description of an interface that is too short", at)
    link_type, longest = struct.unpack_from(f"{section.order}HxxI", body)
    options = _options(section, body[8:], at)
    name = options.get(INTERFACE_NAME, b"").decode(errors="replace")
    section.interfaces.append(_Interface(known, longest or LARGEST_PACKET, _clock(section, options)))
    return CapturedInterface(name, link_type, section.writer)


def _clock(section: _Section, options: Mapping[int, bytes]) -> _Clock:
    resolution = (options.get(TIME_RESOLUTION) or _MICROSECONDS)[0]
    seconds = options.get(_TIME_OFFSET, b"")
    offset = struct.unpack(f"{section.order}q", seconds)[0] if len(seconds) == 8 else 0
    exponent = resolution & ~_IS_BINARY
    return _Clock(UNITS, 2**exponent if resolution & _IS_BINARY else 10**exponent, offset)


def _packet(section: _Section, body: memoryview, at: int) -> FiledPacket:
    if len(body) < section.packet.size:
        raise CaptureError("a packet's block that is too short", at)
    number, high, low, captured, length = section.packet.unpack_from(body)
    interface = section.interface(number, at)
    end = section.packet.size + captured
    if captured > LARGEST_PACKET or end > len(body):
        raise CaptureError(f"a packet of {captured} bytes, which its block of {len(body)} has not", at)
    behind = body[end + (-captured & 3) :]
    flags = _options(section, behind, at).get(FLAGS, b"") if behind else b""
    mask = section.word.unpack(flags)[0] if len(flags) == 4 else 0
    time = interface.clock.time(high << 32 | low)
    return FiledPacket(interface.number, time, body[section.packet.size : end], max(length, captured), mask)


def _simple_packet(section: _Section, body: memoryview, at: int) -> FiledPacket:
    """A packet of the first interface, of which no time is known."""
    if len(body) < 4:
        raise CaptureError("a packet's block that is too short", at)
    (length,) = section.word.unpack_from(body)
    interface = section.interface(0, at)
    captured = min(length, interface.longest, len(body) - 4, LARGEST_PACKET)
    return FiledPacket(interface.number, 0, body[4 : 4 + captured], length)


def _options(section: _Section, data: memoryview, at: int) -> dict[int, bytes]:
    """Values by their codes, the first of each."""
    found: dict[int, bytes] = {}
    position = 0
    while position + 4 <= len(data):
        code, size = struct.unpack_from(f"{section.order}HH", data, position)
        if not code:
            break
        end = position + 4 + size
        if end > len(data):
            raise CaptureError("an option that is longer than its block", at)
        found.setdefault(code, bytes(data[position + 4 : end]))
        position = end + (-size & 3)
    return found
