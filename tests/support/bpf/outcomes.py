"""What a run of a random program leaves behind, in a form in which runs anywhere can be compared."""

import struct
from typing import NamedTuple

from sonde.bpf import maps


class Outcome(NamedTuple):
    """The low 32 bits of r0, the packet or context, the maps' elements, the ring's records."""

    result: int
    data: bytes
    maps: dict[str, list[tuple[bytes, bytes]]]
    records: tuple[bytes, ...]


def is_shown(spec):
    """Whether the map's contents can be compared."""
    return spec.kind not in (maps.RINGBUF, maps.PROG_ARRAY, maps.ARRAY_OF_MAPS) and not spec.frozen


def elements(spec, found):
    """Keys and values in order; of a per-CPU map the value of CPU 0."""
    return sorted((key, value[: spec.value_size]) for key, value in found)


def records_of(data):
    """The submitted records of a ring buffer's bytes: u32 length and flags, u32 page, the record, padding to 8."""
    records, at = [], 0
    while at < len(data):
        (word,) = struct.unpack_from("<I", data, at)
        length = word & 0x3FFFFFFF
        if not word >> 30:
            records.append(bytes(data[at + 8 : at + 8 + length]))
        at += 8 + (length + 7 & ~7)
    return tuple(records)


def differences(a, b):
    """The names of what differs between two outcomes, with both sides."""
    found = {name: (x, y) for name, x, y in zip(Outcome._fields, a, b, strict=True) if x != y}
    if "maps" in found:
        found["maps"] = {name: (a.maps[name], b.maps[name]) for name in a.maps if a.maps[name] != b.maps[name]}
    return found
