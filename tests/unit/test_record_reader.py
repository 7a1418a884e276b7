"""Records of the library from the bytes of a ring: what was packed comes out, for layouts drawn by chance."""

import struct

from hypothesis import given
from support.files.drawn_records import HEADER, PROBES, STRINGS, drawn_records

from sonde.consume.stack_values import stack_value
from sonde.library.record_reader import record_reader
from sonde.library.values import CapturedPacket, Values
from sonde.model.records import CaptureAction, Field, PacketAction, RecordLayout, TraceAction, TracememAction
from sonde.report.symbolizer import NoNames


@given(drawn_records())
def test_what_was_packed_comes_out(drawn):
    read = record_reader(drawn.layout, STRINGS, drawn.stride, PROBES, Values(NoNames()))
    found = read(memoryview(drawn.data))
    assert [record.values for record in found] == drawn.values * drawn.count
    assert [name for record in found for name in record.names] == [*drawn.layout.names] * drawn.count
    assert {(str(record.probe), record.cpu, record.time) for record in found} == {
        ("syscall:vmlinux:read:entry", 3, drawn.time)
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
