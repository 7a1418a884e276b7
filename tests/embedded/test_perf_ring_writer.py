"""Perf rings of the embedded engine, read by the reader that reads the kernel's."""

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files.perf_rings import event_with_ring, moved_to, put, reader_of
from support.files.raw_fragments import linear

from sonde.formats import perf_events as perf
from sonde.formats.perf_ring import BrokenRingError
from sonde.formats.perf_samples import Lost, decode_lost, decode_sample
from sonde.runtime.perf.attributes import Attributes
from sonde.runtime.perf.events import OpenPerfEvent
from sonde.runtime.perf.output import perf_event_output
from sonde.runtime.perf.packet_pieces import XdpPacket
from sonde.runtime.perf.raw import Fragment, RawRecord
from sonde.runtime.perf.ring import PerfRing
from sonde.runtime.perf.sample import Sample

CURRENT_CPU = 0xFFFFFFFF


def raw(size):
    return linear(memoryview(bytes(range(256)) * (size // 256 + 1))[:size])


def words(event):
    return event.ring.memory[:4096].cast("Q")


def test_the_control_page_tells_where_the_data_are():
    event = event_with_ring(4)
    page = event.ring.memory
    assert struct.unpack_from("=QQQQ", page, 1024) == (0, 0, 4096, 4 * 4096)
    assert struct.unpack_from("=I", page, 72) == (96,)
    put(event, raw(20))
    assert struct.unpack_from("=Q", page, 1024) == (32,)


@pytest.mark.parametrize("pages", [0, 3, -1])
def test_pages_are_a_power_of_two(pages):
    with pytest.raises(ValueError, match="power of 2"):
        PerfRing(pages)


FIELDS = sum(bit for bit, _, _ in perf.FIXED_FIELDS)


@given(
    st.integers(0, FIELDS).map(FIELDS.__and__), st.binary(max_size=30), st.lists(st.integers(0, 1 << 63), max_size=4)
)
def test_a_sample_has_the_fields_of_its_sample_type_in_the_kernels_order(sample_type, data, chain):
    sample_type |= perf.SAMPLE_RAW | perf.SAMPLE_CALLCHAIN | perf.SAMPLE_REGS_USER
    event = event_with_ring(sample_type=sample_type, sample_regs_user=0b1_0000_0011)
    values = {"ip": 1 << 40, "pid": 10, "tid": 11, "time": 1 << 50, "addr": 99, "period": 4000}
    registers = struct.pack("=21Q", *range(21))
    sample = Sample(dict(values), linear(memoryview(data)), perf.MISC_USER, registers, tuple(chain))
    assert event.output(sample) == 0
    (record,) = reader_of(event).read()
    decoded = decode_sample(record.body, sample_type, registers=3)
    values |= {"id": 7, "identifier": 7, "stream_id": 7, "cpu": 0, "reserved": 0}
    named = {name for bit, names, _ in perf.FIXED_FIELDS if sample_type & bit for name in names.split()}
    assert decoded.fields == {name: values[name] for name in named}
    assert decoded.callchain == tuple(chain)
    assert decoded.raw[: len(data)] == data
    assert decoded.registers == (10, 5, 16), "ax, bx, ip"
    assert record.misc == perf.MISC_USER


def test_a_sample_without_raw_part_or_registers_says_so():
    event = event_with_ring(sample_type=perf.SAMPLE_RAW | perf.SAMPLE_REGS_USER, sample_regs_user=1)
    put(event, None)
    (record,) = reader_of(event).read()
    assert bytes(record.body) == struct.pack("=IIQ", 4, 0, 0)


@given(st.lists(st.integers(0, 600), min_size=1, max_size=40), st.integers(0, 511))
def test_records_wrap_around_the_end_of_the_ring(sizes, start):
    event = event_with_ring()
    reader = moved_to(event, 8 * start)
    for number, size in enumerate(sizes):
        put(event, raw(size), time=number)
        (record,) = reader.read()
        assert decode_sample(record.body, perf.SAMPLE_RAW).raw[:size] == raw(size).fragment.data
        reader.advance()


def test_a_full_ring_counts_the_lost_and_tells_later_before_the_next_record():
    event = event_with_ring()
    reader = reader_of(event)
    for _ in range(3):
        put(event, raw(1012))
    for _ in range(5):
        assert event.output(Sample(raw=raw(1012))) == -errno.ENOSPC
    assert event.lost == 5
    assert [record.type for record in reader.read()] == [perf.RECORD_SAMPLE] * 3
    reader.advance()
    put(event, raw(100))
    lost, sample = reader.read()
    assert (lost.type, decode_lost(lost.body)) == (perf.RECORD_LOST, Lost(7, 5, {}))
    assert sample.type == perf.RECORD_SAMPLE
    reader.advance()
    put(event, raw(100))
    assert [record.type for record in reader.read()] == [perf.RECORD_SAMPLE], "it is told once"


def test_the_lost_count_waits_until_it_has_room_itself():
    event = event_with_ring()
    reader = reader_of(event)
    for _ in range(3):
        put(event, raw(1012))
    assert event.output(Sample(raw=raw(1012))) == -errno.ENOSPC
    # 1024 bytes are left, one of which stays free: enough for a record of 1000 alone, not for 24 of the loss too.
    assert event.output(Sample(raw=raw(988))) == -errno.ENOSPC
    reader.read()
    reader.advance()
    put(event, raw(8))
    assert decode_lost(reader.read()[0].body).lost == 2


def test_lost_records_tell_whose_they_are_where_sample_id_all_asks_for_it():
    wanted = perf.SAMPLE_RAW | perf.SAMPLE_TID | perf.SAMPLE_IDENTIFIER
    event = event_with_ring(sample_type=wanted, sample_id_all=True)
    reader = reader_of(event)
    while event.output(Sample({}, raw(500))) == 0:
        pass
    reader.read()
    reader.advance()
    put(event, raw(1), pid=5, tid=6)
    lost = decode_lost(reader.read()[0].body, wanted)
    assert lost == Lost(7, 1, {"pid": 5, "tid": 6, "identifier": 7})


def test_head_moves_when_the_outermost_of_nested_outputs_ends():
    event = event_with_ring()

    def copy(destination, offset, length):
        put(event, linear(memoryview(b"inner")))
        assert words(event)[128] == 0
        destination[:] = b"o" * length
        return 0

    put(event, RawRecord(Fragment(20, copy=copy)))
    outer, inner = reader_of(event).read()
    assert decode_sample(outer.body, perf.SAMPLE_RAW).raw[:20] == b"o" * 20
    assert decode_sample(inner.body, perf.SAMPLE_RAW).raw[:5] == b"inner"


def test_a_reader_is_woken_by_events_by_bytes_or_at_half_of_the_ring():
    for pages, attributes, expected in (
        (16, {"wakeup_events": 3}, 3),
        (1, {"wakeup_watermark": 1000}, 10),
        (1, {}, 4),
    ):
        event = event_with_ring(pages, **attributes)
        reader = reader_of(event)
        for _ in range(10):
            put(event, raw(1012))
            reader.read()
            reader.advance()
        assert event.ring.wakeups == expected, attributes


def test_a_broken_size_is_an_error_not_an_endless_loop():
    for size in (0, 7, 12, 32):
        event = event_with_ring()
        put(event, raw(8))
        event.ring.memory[4096 + 6 : 4096 + 8] = size.to_bytes(2, "little")
        with pytest.raises(BrokenRingError, match=f" {size} bytes"):
            reader_of(event).read()


def output(event, data, flags, packet=None):
    return perf_event_output([event], flags, memoryview(data), packet, Sample)


@pytest.mark.parametrize("length", [1, 99, 100])
def test_output_appends_as_many_context_bytes_as_the_upper_bits_of_the_flags_say(length):
    event = event_with_ring()
    packet = XdpPacket(memoryview(bytes(range(60))), (memoryview(bytes(range(60, 100))),))
    assert output(event, b"head", CURRENT_CPU | length << 32, packet) == 0
    (record,) = reader_of(event).read()
    assert decode_sample(record.body, perf.SAMPLE_RAW).raw[: 4 + length] == b"head" + bytes(range(length))


def test_more_context_bytes_than_the_packet_has_are_a_fault():
    event = event_with_ring()
    packet = XdpPacket(memoryview(bytes(100)))
    assert output(event, b"head", CURRENT_CPU | 101 << 32, packet) == -errno.EFAULT
    assert output(event, b"head", CURRENT_CPU | 1 << 52, packet) == -errno.EINVAL
    assert reader_of(event).read() == []


@pytest.mark.parametrize("head", [0, 8, 4096])
def test_a_record_too_large_for_the_headers_size_is_refused_and_the_ring_stays_whole(head):
    """The kernel lets the u16 wrap: head and packet together have to stay within 65516 bytes."""
    event = event_with_ring(32)
    packet = XdpPacket(memoryview(bytes(0xFFFFF)))
    assert output(event, bytes(head), CURRENT_CPU | (65516 - head) << 32, packet) == 0
    assert output(event, bytes(head), CURRENT_CPU | (65517 - head) << 32, packet) == -errno.E2BIG
    assert output(event, bytes(head), CURRENT_CPU | 0xFFFFF << 32, packet) == -errno.E2BIG
    assert output(event, b"after", CURRENT_CPU) == 0
    whole, after = reader_of(event).read()
    assert len(whole.body) == 0xFFF8 - 8
    assert decode_sample(after.body, perf.SAMPLE_RAW).raw[:5] == b"after"


def test_the_event_of_an_output_is_checked_as_the_kernel_does():
    clock = OpenPerfEvent(Attributes(config=perf.SOFTWARE_CPU_CLOCK))
    events = [None, clock, OpenPerfEvent(Attributes(), cpu=1), OpenPerfEvent(Attributes())]
    results = [perf_event_output(events, index, memoryview(b""), None, Sample) for index in range(5)]
    assert results == [-errno.ENOENT, -errno.EINVAL, -errno.EOPNOTSUPP, -errno.ENOSPC, -errno.E2BIG]


@pytest.mark.parametrize(
    "wrong", [{"sample_type": perf.SAMPLE_BRANCH_STACK}, {"sample_regs_user": 1 << 12}, {"config1": 3}]
)
def test_attributes_that_the_engine_has_not_are_refused(wrong):
    with pytest.raises(OSError, match="Errno 22"):
        OpenPerfEvent(Attributes(**wrong))
