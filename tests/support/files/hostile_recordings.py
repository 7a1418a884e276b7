"""Recordings that were made to take much: small files, each of which asks for memory in another way."""

import json
import struct

from sonde.formats.raw_file import MAGIC

RING, MAP = 2, 3


def blocks(*parts):
    return MAGIC + b"".join(struct.pack("<II", kind, len(payload)) + payload for kind, payload in parts)


def field(offset, size, kind="int", **more):
    return {"offset": offset, "size": size, "kind": kind, **more}


def layout(actions, size=32, number=1):
    return {"number": number, "size": size, "actions": actions, "clause": number}


def printf(*fields):
    return {"is": "PrintfAction", "conversions": [], "fields": list(fields)}


def described(records=(), aggregations=(), types=(), options=(), maps=()):
    made = {
        "version": 2, "rings": 1, "options": [{"name": name, "value": value} for name, value in options],
        "records": list(records), "aggregations": list(aggregations), "strings": [],
        "probes": [{"id": 1, "provider": "p", "module": "m", "function": "f", "name": "n",
                    "firing": {"is": "Internal", "name": ""}}],
        "types": list(types), "maps": list(maps),
    }  # fmt: skip
    return 1, json.dumps(made).encode()


def record(size=32, body=b"", number=1):
    """In a ring, of `size` bytes behind its header."""
    data = struct.pack("<IIIIII", size, 0, number, 1, 0, 0) + body
    return data.ljust(8 + size + 7 & -8, b"\0")


def ring(*records):
    return RING, bytes(4) + b"".join(records)


def elements(name, pairs):
    parts = [struct.pack("<I", len(part)) + part for pair in pairs for part in pair]
    return MAP, json.dumps(name).encode() + b"\n" + b"".join(parts)


COUNT = {"name": "a", "function": "count", "parameters": [], "keys": [field(0, 8)], "key_size": 8, "words": 1,
         "map": "a", "replaceable": True}  # fmt: skip
MANY = 20_000
INTEGER = {"kind": "integer", "name": "int", "size": 1}


def nested(levels):
    """Types of two members each, of the type before: twice as many values with each."""
    types = [INTEGER]
    for number in range(levels):
        member = {"name": "m", "type": number, "offset": 0, "bits": 0}
        types.append({"kind": "struct", "name": "s", "size": 1, "members": [member, {**member, "name": "n"}]})
    return types


PRINTA = {"is": "PrintaAction", "conversions": None, "aggregations": [0]}


def files():
    """By name: the bytes, and how long a hole the file ends with."""
    one = record(body=bytes(16))
    long = layout([printf(*[field(16, 8, "long_string")] * 64)])
    everything = struct.pack("<II", 0, 0xFFFFFFFF)
    rows = elements("a", ((struct.pack("<Q", n), struct.pack("<Q", 1)) for n in range(MANY)))
    overlapping = [field(16 + n, 1 << 20, "bytes") for n in range(4000)]
    strings = [field(16 + n, 1 << 16, "string") for n in range(2000)]
    stacks = [field(16, 1 << 20, "ustack")] * 200
    yield (
        "values that reach over all records",
        blocks(described([long]), ring(*[record(body=everything) for _ in range(MANY)])),
        0,
    )
    yield (
        "the same value again and again",
        blocks(described([layout([printf(*[field(16, 8)] * 16_000)])]), ring(*[one] * MANY)),
        0,
    )
    yield (
        "more values than anybody records",
        blocks(described([layout([printf(*[field(16, 8)] * 100_000)])]), ring(one)),
        0,
    )
    yield (
        "values one above the other",
        blocks(
            described([layout([printf(*overlapping)], 16 + (1 << 20) + 4000)]),
            ring(*[record(16 + (1 << 20) + 4000)] * 4),
        ),
        0,
    )
    yield (
        "strings one above the other",
        blocks(
            described([layout([printf(*strings)], 16 + (1 << 16) + 2000)]),
            ring(*[record(16 + (1 << 16) + 2000, bytes([n]) * 66_000) for n in range(1, 40)]),
        ),
        0,
    )
    yield (
        "stacks one above the other",
        blocks(described([layout([printf(*stacks)], 16 + (1 << 20))]), ring(record(16 + (1 << 20), b"\1" * (1 << 20)))),
        0,
    )
    yield (
        "records of many lengths",
        blocks(described([layout([printf(*[field(16, 8)] * 4000)])]), ring(*[record(32 + 8 * n) for n in range(400)])),
        0,
    )
    yield (
        "objects of objects",
        blocks(
            described([layout([{"is": "PrintAction", "type": 60, "object": field(16, 8, "bytes")}])], types=nested(60)),
            ring(one),
        ),
        0,
    )
    yield (
        "an array of nothing",
        blocks(
            described(
                [layout([{"is": "PrintAction", "type": 1, "object": field(16, 8, "bytes")}])],
                types=[{**INTEGER, "size": 0}, {"kind": "array", "name": "a", "size": 1 << 40, "element": 0}],
            ),
            ring(one),
        ),
        0,
    )
    yield (
        "a table again and again",
        blocks(described([layout([PRINTA], 16)], [COUNT]), ring(*[record(16)] * 2000), *[rows] * 8),
        0,
    )
    yield (
        "a table for more CPUs than there are",
        blocks(
            described([layout([PRINTA], 16)], [COUNT], options=[("aggpercpu", True)]),
            ring(record(16)),
            elements("a", [(bytes(8), b"\1" * (4 << 20))]),
        ),
        0,
    )
    yield (
        "a hole in the place of records",
        blocks(described([layout([printf(field(16, 8))])])) + struct.pack("<III", RING, 255 << 20, 0),
        1 << 40,
    )
    yield (
        "a hole in the place of a table",
        blocks(described([layout([PRINTA], 16)], [COUNT]), ring(record(16)))
        + (struct.pack("<II", MAP, 1 << 29) + b'"a"\n'),
        1 << 40,
    )
    yield "a hole in the place of a description", MAGIC + struct.pack("<II", 1, 60 << 20), 1 << 40
    yield "nothing but brackets", blocks((1, b"[" + b"{}," * 4_000_000 + b"{}]")), 0
    yield "brackets in brackets", blocks((1, b"[" * 1_000_000)), 0
    yield "a number of a million digits", blocks((1, b'{"version": ' + b"7" * 1_000_000 + b"}")), 0
    yield "more rings than there are CPUs", blocks((1, described()[1].replace(b'"rings": 1', b'"rings": 99999999'))), 0
    yield (
        "a map without an end",
        blocks(
            described(
                [layout([{"is": "OtherAction", "name": "commit", "fields": [field(16, 8), field(24, 8)]}])],
                maps=[{"name": "speculations", "kind": 2, "key_size": 4, "value_size": 8, "max_entries": 1 << 60}],
            ),
            ring(record(body=struct.pack("<QQ", 1 << 60, 1 << 60))),
        ),
        0,
    )


def changed_perf_data(data):
    """By name: a perf.data file with one number that asks for much."""

    def with_word(at, value, form="<Q"):
        changed = bytearray(data)
        struct.pack_into(form, changed, at, value)
        return bytes(changed)

    yield "data behind a hole", with_word(40, 1 << 39), 1 << 40
    yield "a list of events that is a hole", with_word(24, 1 << 30), 1 << 40
    yield "many events", with_word(32, 1 << 50), 0
    (events,) = struct.unpack_from("<Q", data, 24)
    (size,) = struct.unpack_from("<I", data, events + 4)
    yield "identifiers without end", with_word(events + size + 8, 1 << 40), 1 << 40
    yield "a note without end", with_word(112, 1 << 62), 1 << 40
