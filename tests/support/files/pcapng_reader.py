"""Reads pcapng files block by block, strictly: whatever a reader may rely on is asserted."""

import struct
from typing import NamedTuple


class Block(NamedTuple):
    kind: int
    body: bytes


class Packet(NamedTuple):
    interface: int
    time: int
    length: int
    data: bytes
    options: dict


def blocks(data):
    position = 0
    while position < len(data):
        kind, size = struct.unpack_from("<II", data, position)
        assert size >= 12
        assert size % 4 == 0
        assert position + size <= len(data)
        assert struct.unpack_from("<I", data, position + size - 4) == (size,)
        yield Block(kind, data[position + 8 : position + size - 4])
        position += size


def options(data):
    """Option values by code; an option list ends with its end and with the block."""
    found, position = {}, 0
    while position < len(data):
        code, size = struct.unpack_from("<HH", data, position)
        if code == 0:
            assert size == 0
            assert position + 4 == len(data)
            return found
        value = data[position + 4 : position + 4 + size]
        assert len(value) == size
        padding = data[position + 4 + size : position + 4 + (size + 3 & ~3)]
        assert not any(padding)
        found.setdefault(code, value)
        position += 4 + (size + 3 & ~3)
    assert not data, "the end of the options is missing"
    return found


def packet(body):
    interface, high, low, captured, length = struct.unpack_from("<5I", body)
    end = 20 + (captured + 3 & ~3)
    return Packet(interface, high << 32 | low, length, body[20 : 20 + captured], options(body[end:]))


def packets(data):
    return [packet(each.body) for each in blocks(data) if each.kind == 6]


def interfaces(data):
    """(link type, longest capture, options) of each."""
    bodies = [each.body for each in blocks(data) if each.kind == 1]
    return [(*struct.unpack_from("<HxxI", body), options(body[8:])) for body in bodies]


def statistics(data):
    """(interface, options) of each."""
    bodies = [each.body for each in blocks(data) if each.kind == 5]
    return [(struct.unpack_from("<I", body)[0], options(body[12:])) for body in bodies]
