"""Blocks of pcapng, the capture format of Wireshark (draft-ietf-opsawg-pcapng, https://pcapng.com), little-endian.

Every function returns one whole block: u32 type, u32 length of the block, what is in it padded to 4 bytes, the length
again. Times are ns since 1970; in a block they are two words, the upper one first.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from sonde.typed import NamedTuple, TypeAlias

SECTION_HEADER, INTERFACE_DESCRIPTION, INTERFACE_STATISTICS, ENHANCED_PACKET = 0x0A0D0D0A, 1, 5, 6

BYTE_ORDER_MAGIC = 0x1A2B3C4D
_VERSION = (1, 0)
_UNKNOWN_LENGTH = -1
"""Of a section that ends with the file or at the next Section Header."""

END_OF_OPTIONS, COMMENT, CUSTOM_BYTES_COPIED = 0, 1, 2989
_HARDWARE, _SYSTEM, APPLICATION = 2, 3, 4
INTERFACE_NAME, TIME_RESOLUTION = 2, 9
_NANOSECONDS = bytes([9])
"""if_tsresol: a unit is 10 to the minus this."""
FLAGS, INBOUND, OUTBOUND = 2, 1, 2
"""A packet's flags, and which of them say where it went."""
_STARTED, _ENDED, _RECEIVED, _SYSTEM_DROPPED, _DELIVERED = 2, 3, 4, 7, 8

LONGEST_OPTION = 0xFFFF

ETHERNET, RAW_IP = 1, 101
"""Link types (https://www.tcpdump.org/linktypes.html)."""

_PAIR, _HEAD = struct.Struct("<HH"), struct.Struct("<II")
_LENGTH = struct.Struct("<I")
PACKET_HEAD = struct.Struct("<IIIIIII")
"""An Enhanced Packet Block's type, length, interface, upper and lower half of the time, captured and original length:
the packet follows."""

Option: TypeAlias = "tuple[int, bytes]"


class Statistics(NamedTuple):
    """Of one interface: when capturing began and when this was counted, the packets written, and those lost. Of the
    first and the last None if that is not known."""

    started: int | None
    ended: int
    delivered: int
    dropped: int | None


def padded(data: bytes) -> bytes:
    """`data` with zeros up to a multiple of 4 bytes."""
    return data + bytes(-len(data) & 3)


def options(values: Iterable[Option]) -> bytes:
    """A list of options with its end; nothing where there are none."""
    parts = [_PAIR.pack(code, len(value)) + padded(value) for code, value in values]
    return b"".join(parts) + bytes(4) if parts else b""


def text_option(code: int, text: str) -> Option:
    """As much of a text as an option can hold, in UTF-8 that is whole."""
    return code, utf8(text.encode(errors="replace"))


def utf8(text: bytes) -> bytes:
    """As much of `text` as an option can hold, with nothing in it that is not UTF-8."""
    if len(text) <= LONGEST_OPTION and (text.isascii() or _is_utf8(text)):
        return text
    readable = text[:LONGEST_OPTION].decode(errors="replace").encode()
    return readable[:LONGEST_OPTION].decode(errors="ignore").encode()


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


EXAMPLE_ENTERPRISE = 32473
"""The enterprise number for whoever has none of its own (RFC 5612)."""


def custom_option(number: int, data: bytes) -> Option:
    """Bytes whose meaning the owner of the enterprise `number` defines; programs that do not know them may copy them
    to another file."""
    return CUSTOM_BYTES_COPIED, _LENGTH.pack(number) + data


def block(kind: int, body: bytes) -> bytes:
    """`body` is a multiple of 4 bytes."""
    size = len(body) + 12
    return _HEAD.pack(kind, size) + body + _LENGTH.pack(size)


def section_header(hardware: str, system: str, application: str, more: Iterable[Option] = ()) -> bytes:
    fixed = struct.pack("<IHHq", BYTE_ORDER_MAGIC, *_VERSION, _UNKNOWN_LENGTH)
    texts = (_HARDWARE, hardware), (_SYSTEM, system), (APPLICATION, application)
    values = [text_option(code, text) for code, text in texts if text]
    return block(SECTION_HEADER, fixed + options([*values, *more]))


def interface_description(name: str, link_type: int, longest: int) -> bytes:
    """Interfaces are numbered from 0 in the order of their descriptions; `longest` is the most that is captured."""
    values = text_option(INTERFACE_NAME, name), (TIME_RESOLUTION, _NANOSECONDS)
    return block(INTERFACE_DESCRIPTION, struct.pack("<HHI", link_type, 0, longest) + options(values))


def interface_statistics(interface: int, statistics: Statistics) -> bytes:
    values = []
    if statistics.started is not None:
        values += [(_STARTED, _time(statistics.started)), (_ENDED, _time(statistics.ended))]
    if statistics.dropped is not None:
        values.append((_RECEIVED, struct.pack("<Q", statistics.delivered + statistics.dropped)))
        values.append((_SYSTEM_DROPPED, struct.pack("<Q", statistics.dropped)))
    values.append((_DELIVERED, struct.pack("<Q", statistics.delivered)))
    return block(INTERFACE_STATISTICS, _LENGTH.pack(interface) + _time(statistics.ended) + options(values))


def _time(value: int) -> bytes:
    return _HEAD.pack(value >> 32, value & 0xFFFFFFFF)


def enhanced_packet(interface: int, time: int, length: int, data: bytes, values: bytes = b"") -> bytes:
    """A packet of `length` bytes, of which `data` were captured; `values` are `options`."""
    size = 32 + (len(data) + 3 & ~3) + len(values)
    head = PACKET_HEAD.pack(ENHANCED_PACKET, size, interface, time >> 32, time & 0xFFFFFFFF, len(data), length)
    return b"".join((head, padded(data), values, _LENGTH.pack(size)))
