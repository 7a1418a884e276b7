"""Raw records: chains of fragments, and what of them is in the ring."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.files.perf_rings import event_with_ring, moved_to, put, reader_of
from support.files.raw_fragments import flat, linear

from sonde.formats import perf_events as perf
from sonde.formats.perf_samples import decode_sample
from sonde.runtime.perf.packet_pieces import SkbPacket, XdpPacket
from sonde.runtime.perf.raw import Fragment, RawRecord, prepare
from sonde.runtime.perf.sample import Sample

PIECE = st.binary(max_size=90).map(memoryview)


def chain(*parts):
    """Fragments of bytes, or of (size, callback)."""
    following = None
    for part in reversed(parts):
        if isinstance(part, tuple):
            following = Fragment(part[0], copy=part[1], next_=following)
        else:
            following = Fragment(len(part), memoryview(part), next_=following)
    return RawRecord(following)


def raw_of(reader):
    (record,) = reader.read()
    assert record.type == perf.RECORD_SAMPLE
    return decode_sample(record.body, perf.SAMPLE_RAW).raw


def packets():
    skb = st.recursive(
        st.builds(SkbPacket, PIECE, st.lists(PIECE, max_size=3).map(tuple)),
        lambda inner: st.builds(
            SkbPacket, PIECE, st.lists(PIECE, max_size=2).map(tuple), st.lists(inner, max_size=3).map(tuple)
        ),
        max_leaves=4,
    )
    return st.one_of(skb, st.builds(XdpPacket, PIECE, st.lists(PIECE, max_size=4).map(tuple)))


def pieces_of(packet):
    """The packet's bytes in a row, by another way than its callback."""
    if isinstance(packet, XdpPacket):
        return b"".join(map(bytes, (packet.buffer, *packet.fragments)))
    return b"".join(map(bytes, (packet.head, *packet.pages))) + b"".join(map(pieces_of, packet.fragments))


@pytest.mark.long
@settings(max_examples=50)
@given(packets())
def test_a_packet_is_head_pages_and_fragment_list_or_buffer_and_fragments(packet):
    assert flat(packet) == pieces_of(packet)
    assert packet.length == len(pieces_of(packet))


@settings(max_examples=50)
@given(packets(), st.integers(0, 400), st.integers(0, 400))
def test_a_packets_callback_copies_any_piece_and_tells_what_is_missing(packet, offset, length):
    destination = bytearray(length)
    missing = packet.copy(memoryview(destination), offset, length)
    expected = pieces_of(packet)[offset : offset + length]
    assert missing == length - len(expected)
    assert destination[: len(expected)] == expected


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=4), st.lists(st.booleans(), min_size=4, max_size=4))
def test_each_fragment_is_linear_or_has_its_own_copy_callback(parts, with_callback):
    def callback(part):
        def copy(destination, offset, length):
            destination[:length] = part[offset : offset + length]
            return 0

        return len(part), copy

    record = chain(*(callback(p) if c else p for p, c in zip(parts, with_callback, strict=False)))
    event = event_with_ring()
    put(event, record)
    whole = b"".join(parts)
    assert raw_of(reader_of(event))[: len(whole)] == whole


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=5))
def test_the_padding_stands_where_the_last_fragments_next_would_be(parts):
    record = chain(*parts)
    prepare(record)
    total = sum(map(len, parts))
    last = record.fragment
    while isinstance(last.next, Fragment):
        last = last.next
    assert 0 <= last.next < 8
    assert record.size == total + last.next
    assert (record.size + 4) % 8 == 0


def test_size_and_padding_are_computed_once_when_the_sample_is_prepared():
    event = event_with_ring()
    record = chain(b"abc", b"defgh")
    sample = Sample(raw=record)
    size = sample.prepare(event.layout)
    record.fragment.size = 1000  # whoever would walk the chain again would see it
    assert sample.prepare(event.layout) == size
    assert record.size == 12
    record.fragment.size = 3
    assert event.output(sample) == 0
    assert raw_of(reader_of(event))[:8] == b"abcdefgh"


def test_the_callback_is_called_with_offset_and_length_pieces_where_the_slot_wraps():
    event = event_with_ring()
    reader = moved_to(event, 4096 - 32)
    calls = []

    def copy(destination, offset, length):
        calls.append((offset, length, len(destination)))
        destination[:] = bytes(range(offset, offset + length))
        return 0

    put(event, chain(b"head", (50, copy)))
    assert calls == [(0, 16, 16), (16, 34, 34)]
    assert raw_of(reader)[:54] == b"head" + bytes(range(50))


@pytest.mark.parametrize("place", ["first", "second"])
def test_what_a_callback_cannot_copy_is_zeros_and_the_record_is_whole(place):
    event = event_with_ring()
    reader = moved_to(event, 4096 - 32)

    def copy(destination, offset, length):
        destination[:] = b"x" * length
        return 5 if (offset == 0) == (place == "first") else 0

    put(event, chain(b"head", (50, copy), b"tail"))
    expected = b"x" * 11 + bytes(39) if place == "first" else b"x" * 45 + bytes(5)
    assert raw_of(reader)[:58] == b"head" + expected + b"tail"


def test_a_callback_that_fails_altogether_leaves_a_whole_record_and_a_ring_that_goes_on():
    def fail(destination, offset, length):
        raise ZeroDivisionError

    event = event_with_ring()
    with pytest.raises(ZeroDivisionError):
        put(event, chain(b"head", (50, fail)))
    put(event, linear(memoryview(b"next")))
    failed, following = reader_of(event).read()
    assert decode_sample(failed.body, perf.SAMPLE_RAW).raw[:54] == b"head" + bytes(50)
    assert decode_sample(following.body, perf.SAMPLE_RAW).raw[:4] == b"next"


def test_values_that_no_field_holds_take_no_place_in_the_ring():
    event = event_with_ring(sample_type=perf.SAMPLE_RAW | perf.SAMPLE_TID)
    with pytest.raises(struct.error):
        put(event, linear(memoryview(b"data")), pid=-1)
    assert reader_of(event).read() == []


@given(st.binary(max_size=100))
def test_a_record_of_one_linear_fragment_behaves_as_before_fragments_existed(data):
    """The bytes of kernels before 4.8: header, u32 size that fills up to 8 bytes, data."""
    event = event_with_ring()
    put(event, linear(memoryview(data)))
    size = (len(data) + 4 + 7) // 8 * 8 - 4
    expected = struct.pack("<IHHI", 9, 1, 12 + size, size) + data.ljust(size, b"\0")
    assert event.ring.memory[4096 : 4096 + len(expected)] == expected


OFFSETS = tuple(range(0, 4096, 8))


@settings(max_examples=50)
@given(packets(), st.binary(max_size=40), st.data())
def test_at_a_random_ring_offset_the_bytes_equal_a_flat_copy(packet, head, data):
    check_at(data.draw(st.sampled_from(OFFSETS)), packet, head)


@pytest.mark.parametrize(
    "packet",
    [
        SkbPacket(memoryview(bytes(range(40))), (memoryview(bytes(range(40, 77))), memoryview(b"pages")),
                  (SkbPacket(memoryview(b"list"), (memoryview(b"of more"),)), SkbPacket(memoryview(b"!")))),
        XdpPacket(memoryview(bytes(range(64))), (memoryview(b"fragment" * 7), memoryview(b"s"))),
    ],
    ids=["skb", "xdp"],
)  # fmt: skip
def test_at_every_ring_offset_the_bytes_equal_a_flat_copy(packet):
    for offset in OFFSETS:
        check_at(offset, packet, b"a head")


def check_at(offset, packet, head):
    event = event_with_ring()
    reader = moved_to(event, offset)
    expected = head + pieces_of(packet)
    put(event, chain(head, (packet.length, packet.copy)))
    assert raw_of(reader)[: len(expected)] == expected
