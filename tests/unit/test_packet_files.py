"""pcapng and pcap files as they are read: byte orders, clocks, sections, devices, and what is wrong with them."""

import struct
import subprocess

import pytest
from support.files.capture_files import RAW_IP, Pcapng, pcap
from support.machine import packages
from support.packets.frames import FRAMES

from sonde.formats.captured_file import CapturedInterface, CaptureError
from sonde.formats.packet_file import devices, records

FRAME = FRAMES["tcp"]
SECOND = 10**9


def written(tmp_path, data):
    path = tmp_path / "file"
    path.write_bytes(data)
    return str(path)


def packets(path):
    """(interface, time, bytes, length, flags) of each packet."""
    found = [each for each in records(path) if not isinstance(each, CapturedInterface)]
    return [(each.interface, each.time, bytes(each.data), each.length, each.flags) for each in found]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("resolution", "offset", "units", "time"),
    [
        (None, None, 1_600_000_000_123_456, 1_600_000_000_123_456_000),
        (9, None, 1_600_000_000_123_456_789, 1_600_000_000_123_456_789),
        (0, 5, 7, 12 * SECOND),
        (3, -1, 2500, 1_500_000_000),
        (12, None, 123_456, 123),
        (0x80 | 10, None, 1024 * 3 + 512, 3_500_000_000),
        (127, None, 1 << 63, 0),
    ],
)
def test_times_are_nanoseconds_whatever_the_clock_of_the_interface(tmp_path, order, resolution, offset, units, time):
    file = Pcapng(order).interface("eth0", resolution=resolution, offset=offset).other()
    file.packet(FRAME, time=units, length=9000, flags=2)
    assert packets(written(tmp_path, file.data)) == [(0, time, FRAME, 9000, 2)]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "unit"), [(0xA1B2C3D4, 1000), (0xA1B23C4D, 1)])
def test_pcap_files_have_one_interface(tmp_path, order, magic, unit):
    path = written(tmp_path, pcap([(7, 9, FRAME, 1500), (8, 0, b"", 0)], order, magic, 0x10000000 | RAW_IP))
    assert packets(path) == [(0, 7 * SECOND + 9 * unit, FRAME, 1500, 0), (0, 8 * SECOND, b"", 0, 0)]
    assert [tuple(each) for each in devices(path)] == [("if0", RAW_IP)]


def test_packets_without_times_are_of_the_first_interface_and_as_long_as_it_captures(tmp_path):
    file = Pcapng().interface("eth0", longest=20).simple(FRAME).interface("eth1", longest=0).simple(FRAME[:10])
    assert packets(written(tmp_path, file.data)) == [
        (0, 0, FRAME[:20], len(FRAME), 0), (0, 0, FRAME[:10], 10, 0),
    ]  # fmt: skip


def test_sections_have_their_own_byte_order_and_numbers_and_interfaces_of_one_name_are_one_device(tmp_path):
    first = Pcapng("<").interface("eth0").interface("").packet(FRAME, 1, 1)
    second = Pcapng(">").interface("tun 0:x", RAW_IP).interface("eth0").interface("eth0", RAW_IP)
    second.packet(b"a", 0, 2).packet(b"b", 1, 3).packet(b"c", 2, 4)
    path = written(tmp_path, first.data + second.data)
    assert [(each[0], each[2]) for each in packets(path)] == [(1, FRAME), (2, b"a"), (3, b"b"), (4, b"c")]
    names = [("eth0", 1), ("if1", 1), ("tun_0_x", RAW_IP), ("if4", RAW_IP)]
    assert [tuple(each) for each in devices(path)] == names


def test_tshark_reads_the_same(tmp_path):
    packages.require("tshark")
    file = Pcapng(">").interface("eth0", resolution=9).interface("eth1")
    for number, frame in enumerate(FRAMES.values()):
        file.packet(frame, number % 2, 1_700_000_000_000_000 * (1000 if not number % 2 else 1) + number, 2000 + number)
    path = written(tmp_path, file.data)
    fields = ("frame.interface_name", "frame.time_epoch", "frame.cap_len", "frame.len")
    words = ["tshark", "-n", "-r", path, "-Tfields", *(f"-e{each}" for each in fields)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    names = devices(path)
    assert [line.split("\t") for line in done.stdout.splitlines()] == [
        [names[at].name, f"{time // SECOND}.{time % SECOND:09}", str(len(data)), str(length)]
        for at, time, data, length, _ in packets(path)
    ]


WHOLE = Pcapng().interface("eth0").packet(FRAME, time=1).packet(FRAME, time=2)
LAST = len(WHOLE.data)


def changed(at, value, data=WHOLE.data):
    return data[:at] + struct.pack("<I", value) + data[at + 4 :]


BEGIN = len(Pcapng().interface("eth0").packet(FRAME).data)
"""Where the second packet's block begins."""


@pytest.mark.parametrize(
    ("data", "text", "at", "count"),
    [
        (WHOLE.data[: LAST - 1], "ends within", BEGIN, 1),
        (WHOLE.data + b"\6", "ends within", LAST, 2),
        (changed(BEGIN + 4, 13), "a block of 13 bytes", BEGIN, 1),
        (changed(BEGIN + 4, 8), "a block of 8 bytes", BEGIN, 1),
        (changed(BEGIN + 4, 1 << 30), "a block of 1073741824 bytes", BEGIN, 1),
        (changed(LAST - 4, 64), "ends with another length", BEGIN, 1),
        (changed(BEGIN + 8, 1), "interface 1, which is not described", BEGIN, 1),
        (changed(BEGIN + 20, len(FRAME) + 40), "which its block of", BEGIN, 1),
        (changed(8, 7), "without its byte order", 0, 0),
        (b"", "neither as a pcapng file nor as a pcap file", 0, 0),
        (b"\x0a\x0d\x0d\x0a", "ends within", 0, 0),
        (b"\xd4\xc3\xb2\xa1", "ends within", 0, 0),
        (Pcapng().data, "no interface and no packet", 0, 0),
        (pcap([(1, 1, FRAME, 1)])[:-1], "ends within", 24, 0),
        (changed(24 + 8, 1 << 20, pcap([(1, 1, FRAME, 1)])), "a packet of 1048576 bytes", 24, 0),
        (changed(4, 9, pcap([])), "version 9.0", 4, 0),
    ],
)
def test_damage_is_told_with_its_place_behind_the_packets_before_it(tmp_path, data, text, at, count):
    path = written(tmp_path, data)
    with pytest.raises(CaptureError, match=text) as raised:
        read(path)
    assert raised.value.at == at
    assert sum(not isinstance(each, CapturedInterface) for each in taken(path)) == count


def read(path):
    """All of it, and its devices."""
    return list(records(path)), devices(path)


def taken(path):
    """What there is before the damage."""
    try:
        yield from records(path)
    except CaptureError:
        return


def test_a_file_cannot_have_any_number_of_interfaces(tmp_path):
    file = Pcapng()
    data = file.data + Pcapng().interface("").data[len(file.data) :] * 5000
    assert len(devices(written(tmp_path, data))) == 4096
