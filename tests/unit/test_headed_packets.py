"""Where the packet begins and ends in a record that the kernel has padded, by what its head says."""

import pytest

from sonde.model.records import MemberSpec, TypeSpec
from sonde.report.headed_packets import HeadedPackets

U32, U64, CHARS = TypeSpec("integer", "u32", 4), TypeSpec("integer", "u64", 8), TypeSpec("array", "char[8]", 8)


def headed(*names, kind=U32):
    """Of a head with numbers of these names."""
    members = tuple(MemberSpec(name, 0, 8 * kind.size * at) for at, name in enumerate(names))
    return HeadedPackets([kind, TypeSpec("struct", "struct head", kind.size * len(names), members=members)], 1)


def record(head, packet):
    """As a perf ring has it: with its u32 length before it a multiple of 8 bytes; the padding is not zeros."""
    data = head + packet
    return data + b"\xee" * (-(len(data) + 4) % 8)


def words(*values, size=4):
    return b"".join(value.to_bytes(size, "little") for value in values)


@pytest.mark.parametrize("names", [("len", "captured"), ("caplen", "length"), ("pkt_len", "snaplen"), ("size", "CAP")])
@pytest.mark.parametrize(("kind", "size"), [(U32, 4), (U64, 8)])
def test_a_packet_of_any_length_ends_where_a_member_says(names, kind, size):
    takes = headed(*names, kind=kind)
    at = next(number for number, name in enumerate(names) if "cap" in name.lower() or "snap" in name)
    for captured in range(1, 300):
        for length in (captured, captured + 1, captured + 6, 9000):
            head = words(*((captured, length) if at == 0 else (length, captured)), size=size)
            packet = bytes(number % 251 for number in range(captured))
            found = takes.parted(record(head, packet))
            assert (bytes(found.head), bytes(found.data), found.length) == (head, packet, length)


def test_the_only_length_serves_as_long_as_it_fits():
    """Of a packet that was cut the record's end is taken, with its padding."""
    takes = headed("pkt_len")
    for captured in range(1, 100):
        whole = takes.parted(record(words(captured), b"x" * captured))
        assert (bytes(whole.data), whole.length) == (b"x" * captured, captured)
    cut = takes.parted(record(words(1500), b"x" * 64))
    assert (bytes(cut.data[:64]), len(cut.data) - 64, cut.length) == (b"x" * 64, -(4 + 64 + 4) % 8, 1500)


def test_without_a_length_padding_is_taken_for_bytes_and_no_packet_is_none():
    takes = headed("number", "other")
    for captured in range(8, 100):
        found = takes.parted(record(words(64, 64), b"x" * captured))
        assert bytes(found.data[:captured]) == b"x" * captured
        assert 0 <= len(found.data) - captured < 8
        assert found.length == len(found.data)
    assert takes.parted(record(words(1, 2), b"")) is None
    assert headed("captured").parted(record(words(0), b"")) is None
    assert headed("captured").parted(b"ab") is None


def test_the_device_is_that_of_a_member_called_so():
    takes = headed("len", "ingress_ifindex")
    assert takes.parted(record(words(20, 7), b"x" * 20)).device == 7
    assert headed("len", "index").parted(record(words(20, 7), b"x" * 20)).device == 0
