"""Records of the library from the bytes of a ring: what was packed comes out, for layouts drawn by chance."""

import os
import struct

from hypothesis import given
from hypothesis import strategies as st

from sonde.consume.stacks import stack_value
from sonde.library.frames import Frame
from sonde.library.record_reader import ProbeNames, record_reader
from sonde.library.values import CapturedPacket, Values
from sonde.model.conversions import Conversion
from sonde.model.probe import Internal, Probe
from sonde.model.spec import (
    CaptureAction,
    Field,
    PacketAction,
    PrintfAction,
    RecordLayout,
    TraceAction,
    TracememAction,
)
from sonde.report.symbolizer import NoNames

STRINGS = (b"zero", "umläut".encode(), b"\xff")
PROBES = ProbeNames()
PROBES.learn([Probe(7, "syscall", "vmlinux", "read", "entry", Internal(""))])
HEADER = 8
"""Bytes before each record in a ring."""


def integer(size, signed):
    low, high = (-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1) if signed else (0, (1 << 8 * size) - 1)
    return st.integers(low, high).map(
        lambda value: (("int", size, signed), value.to_bytes(size, "little", signed=signed), value)
    )


TEXT = st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), max_size=5)
VALUE = st.one_of(
    *(integer(size, signed) for size in (1, 2, 4, 8) for signed in (False, True)),
    TEXT.map(lambda text: (("string", 24, False), text.encode().ljust(24, b"\0"), text)),
    st.sampled_from(range(3)).map(
        lambda number: (
            ("interned", 4, False),
            struct.pack("<I", number),
            os.fsdecode(STRINGS[number]),
        )
    ),
    st.binary(min_size=16, max_size=16).map(lambda data: (("bytes", 16, False), data, data)),
    st.integers(1, 1 << 60).map(lambda at: (("symbol", 8, False), struct.pack("<Q", at), Frame(at))),
)
"""The kind, size and sign of a field, its bytes, and its value."""


@given(st.lists(st.lists(VALUE, min_size=1, max_size=4), min_size=1, max_size=4), st.booleans(), st.integers(1, 5))
def test_what_was_packed_comes_out(statements, has_time, count):
    """Statements of one value are trace(), of more printf()."""
    end, actions, body = 16, [], b""
    time = None
    if has_time:
        time, end, body = Field(16, 8, "int"), 24, struct.pack("<Q", 12345)
    for values in statements:
        fields = []
        for (kind, size, signed), data, _ in values:
            padding = -end % min(size, 8)
            fields.append(Field(end + padding, size, kind, signed))
            body += bytes(padding) + data
            end += padding + size
        is_trace = len(fields) == 1
        actions.append(TraceAction(fields[0]) if is_trace else PrintfAction((Conversion(""),), tuple(fields)))
    names = tuple(f"value{number}" for number in range(sum(map(len, statements))))
    size = end + 7 & -8
    layout = RecordLayout(1, size, tuple(actions), names=names, time=time)
    record = bytes(HEADER) + (struct.pack("<4I", 1, 7, 3, 0) + body).ljust(size, b"\0")
    read = record_reader(layout, STRINGS, len(record), PROBES, Values(NoNames()))
    found = read(memoryview(record * count))
    assert [record.values for record in found] == [tuple(each[2] for each in values) for values in statements] * count
    assert [name for record in found for name in record.names] == [*names] * count
    assert {(str(record.probe), record.cpu, record.time) for record in found} == {
        ("syscall:vmlinux:read:entry", 3, 12345 if has_time else 0)
    }


def one(action, body):
    layout = RecordLayout(1, 16 + len(body), (action,))
    data = bytes(HEADER) + struct.pack("<4I", 1, 7, 0, 0) + body
    (record,) = record_reader(layout, STRINGS, len(data), PROBES, Values(NoNames()))(memoryview(data))
    return record[0]


def test_memory_is_cut_to_the_size_that_is_wanted():
    body = b"abcdefgh" + struct.pack("<q", 3)
    assert one(TracememAction(Field(16, 8, "bytes"), Field(24, 8, "int", True)), body) == b"abc"


def test_packets_are_values():
    body = struct.pack("<QIIII8s", 99, 1500, 3, 1, 0, b"abcdefgh")
    fields = Field(16, 8, "int"), Field(24, 4, "int"), Field(28, 4, "int"), Field(32, 4, "int"), Field(40, 8, "bytes")
    assert one(PacketAction(*fields), body) == CapturedPacket(99, 1500, b"abc")
    body = struct.pack("<QIIII", 99, 1500, 0, 40, 4) + b"wxyz\0\0\0\0"
    fields = Field(16, 8, "int"), Field(24, 4, "int"), Field(32, 8, "long_bytes")
    assert one(CaptureAction(*fields), body) == CapturedPacket(99, 1500, b"wxyz")


def test_stacks_are_frames():
    data = struct.pack("<4Q", 16, 32, 48, 0)
    assert [frame.address for frame in one(TraceAction(Field(16, 32, "stack", detail="2")), data)] == [16, 32]
    assert len(stack_value(data)) == 24
