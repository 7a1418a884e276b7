"""pcap files, read (https://www.tcpdump.org/manpages/pcap-savefile.5.html): one interface, without a name."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from sonde.formats.captured_file import (
    LARGEST_PACKET,
    UNITS,
    CapturedInterface,
    CaptureError,
    CaptureStream,
    FiledPacket,
)

_PARTS = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
"""ns of the smaller unit of times, by the number that a file begins with."""

_HEADER = "IHHiIII"
_LINK_TYPE = 0xFFFF
"""The part of the last word of the header that is the link type; above it is how long check sums are."""


def _order(start: bytes) -> str:
    """How words stand in a file that begins so, "" if that is no pcap file."""
    for order in ("<", ">"):
        if struct.unpack(f"{order}I", start)[0] in _PARTS:
            return order
    return ""


def is_pcap(start: bytes) -> bool:
    """Whether a file of these first four bytes is one."""
    return bool(_order(start))


def records(stream: CaptureStream) -> Iterator[CapturedInterface | FiledPacket]:
    """The interface, then all packets. Raises CaptureError."""
    order = _order(bytes(stream.peek(4)))
    header = struct.Struct(order + _HEADER)
    magic, major, minor, _, _, _, network = header.unpack(stream.take(header.size))
    if major != 2:
        raise CaptureError(f"it is of version {major}.{minor} of the format, of which only 2 is known", 4)
    yield CapturedInterface("", network & _LINK_TYPE)
    head, unit = struct.Struct(f"{order}IIII"), _PARTS[magic]
    while not stream.is_over():
        at = stream.position
        seconds, part, captured, length = head.unpack(stream.peek(head.size))
        if captured > LARGEST_PACKET:
            raise CaptureError(f"a packet of {captured} bytes, where {LARGEST_PACKET} are the most", at)
        # Whole, or not at all.
        stream.peek(head.size + captured)
        stream.take(head.size)
        yield FiledPacket(0, seconds * UNITS + part * unit, stream.take(captured), max(length, captured))
